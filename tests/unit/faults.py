"""Faults put into a measurement, for tests that a claim falls on bad data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpu_explain.scenes.base import Findings, Measurement, Quantity, Series, Trace

Fault = Callable[[Findings], Findings]


def change(m: Measurement, part: str, fault: Fault) -> Measurement:
    """The measurement with a fault in the findings of one part."""
    return replace(m, parts={**m.parts, part: fault(m.parts[part])})


def quantity(name: str, value: float) -> Fault:
    """Another value for one quantity."""

    def changed(q: Quantity) -> Quantity:
        return replace(q, value=value) if q.name == name else q

    return lambda f: replace(f, quantities=tuple(map(changed, f.quantities)))


def trace(name: str, made: Callable[[Trace], Trace]) -> Fault:
    """Another trace in the place of one."""
    return lambda f: replace(f, traces=tuple(made(t) if t.name == name else t for t in f.traces))


def series(name: str, made: Callable[[Series], Series]) -> Fault:
    """Another curve in the place of one."""
    return lambda f: replace(f, series=tuple(made(s) if s.name == name else s for s in f.series))
