"""The recording of one scene as bytes: gzipped JSON, written by :func:`pack`, checked by :func:`unpack`.

What is equal is stored once: several measurements of a scene share most of their parts (the staircase stays
when only the number of blocks changes), and all of them share sources, device and versions. So the file has
tables, and a measurement refers into them::

    {"format": "gpu-explain recording", "schema": 1, "gpu_explain": "0.1.0", "scene": "waves",
     "runs":         [{"device": {…}, "versions": {…}}],           one per worker that took part
     "sources":      {"<key>": {"path": "cuda/blocks.cu", …}},
     "findings":     {"<key>": {"quantities": […], "sources": ["<key>"], …}},
     "measurements": [{"chosen": {"blocks": "fits+1"}, "parts": {"trace": "<key>"}, "run": 0, …}]}

Nothing that is read is trusted: size, gzip, JSON, types, references and choices are checked before a scene
sees any of it, and a fault becomes one sentence.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NoReturn, TypeVar

import msgspec

from gpu_explain import __version__
from gpu_explain.scenes.base import (
    Capture,
    Device,
    Findings,
    Measurement,
    Neighbour,
    Parameter,
    ProblemError,
    Quantity,
    Series,
    SourceText,
    Trace,
)
from gpu_explain.scenes.base.plain import HIDDEN, is_plain, visible
from gpu_explain.scenes.base.problem import problem

_T = TypeVar("_T")

FORMAT = "gpu-explain recording"
SCHEMA = 1
"""Goes up with every change after which an older gpu-explain would misread a recording."""

MOST_BYTES = 64 << 20
"""Most bytes of one scene, packed or unpacked. Real ones stay below 5 MB; a gzip bomb does not."""


class _Run(msgspec.Struct, frozen=True):
    device: Device
    versions: dict[str, str]


class _Findings(msgspec.Struct, frozen=True, omit_defaults=True):
    """:class:`Findings` with the keys of its sources instead of their texts."""

    quantities: tuple[Quantity, ...] = ()
    series: tuple[Series, ...] = ()
    traces: tuple[Trace, ...] = ()
    captures: tuple[Capture, ...] = ()
    sources: tuple[str, ...] = ()
    missing: dict[str, str] = {}
    seconds: dict[str, float] = {}


class _Measurement(msgspec.Struct, frozen=True, omit_defaults=True):
    chosen: dict[str, str]
    parameters: tuple[Parameter, ...]
    when: str
    parts: dict[str, str]
    run: int
    neighbours: tuple[Neighbour, ...] = ()


class _Header(msgspec.Struct, frozen=True):
    """The two fields that say whether the rest can be read at all."""

    format: str
    schema: int
    gpu_explain: str


class _File(_Header, frozen=True):
    scene: str
    runs: tuple[_Run, ...]
    sources: dict[str, SourceText]
    findings: dict[str, _Findings]
    measurements: tuple[_Measurement, ...]


@dataclass(frozen=True)
class SceneRecording:
    """The recorded measurements of one scene.

    Attributes:
        scene: Id of the scene.
        gpu_explain: Version that recorded it.
        measurements: All of them, the default choice first.
    """

    scene: str
    gpu_explain: str
    measurements: tuple[Measurement, ...]
    _found: Mapping[frozenset[tuple[str, str]], Measurement] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the measurements by their choices."""
        object.__setattr__(self, "_found", {frozenset(m.chosen.items()): m for m in self.measurements})

    @property
    def device(self) -> Device:
        """The GPU of the first measurement."""
        return self.measurements[0].device

    @property
    def date(self) -> str:
        """Day of the first measurement, ``2026-11-29`` (UTC)."""
        return self.measurements[0].when[:10]

    def find(self, chosen: Mapping[str, str]) -> Measurement | None:
        """The measurement at exactly these choices, if it was recorded."""
        return self._found.get(frozenset(chosen.items()))


def pack(measurements: Iterable[Measurement]) -> bytes:
    """Complete measurements of one scene as the bytes of a recording. Same measurements, same bytes.

    Raises:
        ValueError: For no measurements, for those of different scenes, or for an incomplete one.
    """
    measured = tuple(measurements)
    if len({m.scene for m in measured}) != 1:
        raise ValueError("a recording holds the measurements of one scene")
    if not all(m.complete for m in measured):
        raise ValueError("a recording holds complete measurements only")
    runs: list[_Run] = []
    sources: dict[str, SourceText] = {}
    findings: dict[str, _Findings] = {}
    stored = []
    for m in measured:
        run = _Run(m.device, dict(m.versions))
        if run not in runs:
            runs.append(run)
        parts = {name: _keep(findings, _referring(found, sources)) for name, found in m.parts.items()}
        stored.append(_Measurement(dict(m.chosen), m.parameters, m.when, parts, runs.index(run), m.neighbours))
    file = _File(FORMAT, SCHEMA, __version__, measured[0].scene, tuple(runs), sources, findings, tuple(stored))
    return gzip.compress(msgspec.json.encode(file), 9, mtime=0)


def unpack(data: bytes, where: str) -> SceneRecording:
    """The recording in ``data``; ``where`` names it in the sentence of a fault.

    Raises:
        ProblemError: For anything that is not a sound recording of a schema that this version reads.
    """
    text = _unzip(data, where)
    header = _decode(text, _Header, where)
    if header.format != FORMAT:
        refuse(where, "It is a gzip file, but not a recording that gpu-explain made")
    if header.schema != SCHEMA:
        newer = header.schema > SCHEMA
        refuse(
            where,
            f"It has schema {header.schema} (gpu-explain {visible(header.gpu_explain[:20])}), "
            f"this gpu-explain {__version__} reads schema {SCHEMA}",
            "newer-recording" if newer else "older-recording",
        )
    file = _decode(text, _File, where)
    if not file.measurements:
        refuse(where, "It holds no measurement")
    if not is_plain(header.gpu_explain) or any(HIDDEN.search(text) for text in _texts(file)):
        refuse(where, "A text in it holds characters that would steer the terminal")
    if len({tuple(sorted(m.chosen.items())) for m in file.measurements}) < len(file.measurements):
        refuse(where, "It holds one combination of choices twice")
    return SceneRecording(file.scene, file.gpu_explain, tuple(_restored(file, m, where) for m in file.measurements))


def refuse(where: str, why: str, id: str = "bad-recording") -> NoReturn:
    """Raise the kind of problem that a recording can have: that condition, at that place."""
    raise ProblemError(problem(id, where=where, why=why))


def _keep(table: dict[str, Any], value: Any) -> str:
    """Put a value into a table under a key made from its content; returns the key."""
    key = hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:16]
    table[key] = value
    return key


def _referring(found: Findings, sources: dict[str, SourceText]) -> _Findings:
    return _Findings(
        found.quantities,
        found.series,
        found.traces,
        tuple(replace(one, text=visible(one.text)) for one in found.captures),
        tuple(_keep(sources, one) for one in found.sources),
        {name: visible(why) for name, why in found.missing.items()},
        dict(found.seconds),
    )


def _restored(file: _File, m: _Measurement, where: str) -> Measurement:
    """A measurement with its references followed and its choices checked."""
    if not 0 <= m.run < len(file.runs):
        refuse(where, f"It refers to run {m.run}, which it does not hold")
    try:
        for parameter in m.parameters:
            parameter.choice(m.chosen[parameter.id])
        parts = {name: _full(file.findings[key], file.sources) for name, key in m.parts.items()}
    except KeyError as missing:
        refuse(where, f"It refers to something that it does not hold: {missing.args[0]}")
    if set(m.chosen) != {parameter.id for parameter in m.parameters}:
        refuse(where, "Its choices and its parameters do not belong together")
    run = file.runs[m.run]
    if not run.device.timer_step_ns or any(
        s < 0 for key in m.parts.values() for s in file.findings[key].seconds.values()
    ):
        refuse(where, "It holds times that no clock shows")
    try:
        datetime.fromisoformat(m.when)
    except ValueError:
        refuse(where, "The day of a measurement is none")
    return Measurement(file.scene, m.chosen, m.parameters, run.device, run.versions, m.when, parts, True, m.neighbours)


def _full(found: _Findings, sources: Mapping[str, SourceText]) -> Findings:
    texts = tuple(sources[key] for key in found.sources)
    return Findings(found.quantities, found.series, found.traces, found.captures, texts, found.missing, found.seconds)


def _texts(value: Any) -> Iterator[str]:
    """Every text in what was read. Columns of numbers, which are most of it, are passed over."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, tuple):
        if value and not isinstance(value[0], int | float):
            for inner in value:
                yield from _texts(inner)
    elif hasattr(value, "__struct_fields__"):
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name))
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _texts(getattr(value, name))


def _unzip(data: bytes, where: str) -> bytes:
    """The JSON inside, never more than :data:`MOST_BYTES` of it held in memory."""
    if data[:2] != b"\x1f\x8b":
        refuse(where, "It is not a gzip file" if data else "It is empty")
    reader = zlib.decompressobj(wbits=31)
    try:
        text = reader.decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        refuse(where, f"It is damaged ({error})")
    if len(text) > MOST_BYTES:
        refuse(where, f"It unpacks to more than {MOST_BYTES >> 20} MB, which no recording does")
    if not reader.eof:
        refuse(where, "It is cut off: its end is missing")
    if reader.unused_data:
        refuse(where, "Something else follows the recording in the same file")
    return text


def _decode(text: bytes, kind: type[_T], where: str) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        refuse(where, f"Its content is not as it should be ({error})")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        refuse(where, f"It does not hold readable JSON ({error})")
