"""The part of ``memory-hierarchy`` that measures bandwidth: bytes a second against footprint, from all SMs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_explain.scenes.base import Chosen, Findings, Kind, Quantity, Series, computed, measured
from gpu_explain.scenes.draw.sizes import rate_text
from gpu_explain.scenes.memory_hierarchy.figures import bytes_text
from gpu_explain.scenes.memory_hierarchy.levels import read_footprints


def measure_bandwidth(gpu: Any, chosen: Chosen, so_far: Mapping[str, Findings]) -> Findings:
    """Read footprints over and over from all SMs, in CUDA and in Triton; read the host's memory once."""
    from gpu_explain.kernels import bandwidth

    device = gpu.device
    sizes = read_footprints(device, bandwidth.GRANULE)
    reads = bandwidth.read_footprints(gpu, footprints=sizes)
    host = bandwidth.read_host(gpu)
    series = tuple(_rates(language, one) for language, one in reads.items())
    cuda, l2 = reads["CUDA"], device.l2_bytes
    best = {
        "l1": max((read for read in cuda if read.footprint <= device.shared_per_sm), key=lambda read: read.gb_per_s),
        # Half of the L2: the smaller the footprint, the more often SMs ask for the same lines at nearly the same time,
        # are answered together, and read more than the L2 alone would deliver.
        "l2": min(cuda, key=lambda read: abs(read.footprint - l2 / 2)),
        "dram": cuda[-1],
        "host": host,
    }
    called = {"l1": "from the L1s", "l2": "from the L2", "dram": "from DRAM", "host": "from the host"}
    quantities = [_rate(f"read.{level}", called[level], read) for level, read in best.items()]
    clock = max(mhz for read in cuda for mhz in read.timing.clock_mhz or (device.clock_max_mhz,))
    quantities.append(
        computed(
            "read.roof",
            "L1 limit",
            device.sms * device.warp_size * 4 * clock / 1e3,
            "GB/s",
            "SMs × 32 lanes × 4 bytes a cycle × the highest SM clock seen in these samples.",
            inputs=("read.l1",),
            note=f"= {rate_text(device.sms * device.warp_size * 4 * clock / 1e3)}",
        )
    )
    sources = tuple(text for language in bandwidth.LANGUAGES for text in bandwidth.sources(language))
    return Findings(quantities=tuple(quantities), series=series, sources=sources)


_READING = (
    "One block an SM reads over and over, 16 bytes a thread at a time: every block the whole footprint while it is no"
    " larger than the L2, in an order of its own, else each block its own part; bytes read (counted) over median time. "
)


def _rates(language: str, reads: Sequence[Any]) -> Series:
    clocks = [mhz for read in reads for mhz in read.timing.clock_mhz]
    return Series(
        f"read.{language}",
        f"Read by {language}",
        Kind.MEASURED,
        tuple(float(read.footprint) for read in reads),
        tuple(round(read.gb_per_s, 1) for read in reads),
        "bytes",
        "GB/s",
        _READING + reads[0].timing.method,
        low=tuple(round(read.rate(read.timing.at(0.8)), 1) for read in reads),
        high=tuple(round(read.rate(read.timing.at(0.2)), 1) for read in reads),
        n=len(reads[0].timing.samples_us),
        clock_mhz=(min(clocks), max(clocks)) if clocks else None,
        source="kernels/bandwidth.py",
    )


def _rate(name: str, called: str, read: Any) -> Quantity:
    clock = read.timing.clock_mhz
    return measured(
        name,
        called,
        read.gb_per_s,
        "GB/s",
        _READING + read.timing.method,
        low=read.rate(read.timing.at(0.8)),
        high=read.rate(read.timing.at(0.2)),
        n=len(read.timing.samples_us),
        clock_mhz=(min(clock), max(clock)) if clock else None,
        source="kernels/bandwidth.py",
        note=f"at {bytes_text(read.footprint)}",
    )
