"""Memory, interrogated: ``python -m benchmarks.memory``. Transposes, one pass, the L2, coalescing, banks, latencies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from benchmarks.compare import Contestant, Figure, Row, command, compare, heading, markdown, roof_gb_per_s
from gpu_explain.kernels.session import Session

PUBLISHED_L2_GB_PER_S = 10_200.0
"""H200, 7 MB, by gpu-benches: the yardstick of the L2's row on that card."""


def transposes(gpu: Session, rows: int, columns: int, roof: float, *, samples: int = 9) -> Row:
    """Every method that takes the shape, beside torch's and a copy of as many bytes."""
    import torch

    from gpu_explain.kernels.transpose import METHODS, moved_bytes, takes_wide, transpose

    a = torch.randn(rows, columns, device=f"cuda:{gpu.ordinal}")
    b = torch.empty(columns, rows, device=a.device)
    flat = b.view(rows, columns)

    def contestant(method: str) -> Contestant:
        transpose(gpu, a, b, method=method)
        return Contestant(method, lambda: transpose(gpu, a, b, method=method), ours=True)

    contestants = [contestant(method) for method in METHODS if method != "wide" or takes_wide(a, b)]
    contestants += [Contestant("torch", lambda: b.copy_(a.t())), Contestant("copy, torch", lambda: flat.copy_(a))]
    return compare(
        gpu,
        f"transpose {rows} × {columns} fp32",
        contestants,
        samples=samples,
        bytes=moved_bytes(rows, columns),
        roof=roof,
        roof_name="copy, 1 read : 1 write",
        wanted="0.85 of the roof for the best",
    )


def one_pass(gpu: Session, n: int) -> Row:
    """Our reading beside torch.sum's."""
    import torch

    from gpu_explain.kernels.read_once import pieces, read_once

    x = torch.randn(n, device=f"cuda:{gpu.ordinal}")
    sums = torch.empty(pieces(x), device=x.device)
    total = torch.empty((), device=x.device)
    return compare(
        gpu,
        f"read 2^{n.bit_length() - 1} fp32 once",
        [
            Contestant("read_once", lambda: read_once(gpu, x, sums), ours=True),
            Contestant("torch.sum", lambda: torch.sum(x, dim=0, out=total)),
        ],
        bytes=4 * n,
        wanted="0.99 × torch.sum",
    )


def l2(gpu: Session) -> Row:
    """The L2 read over and over by all SMs, each in an order of its own."""
    from gpu_explain.kernels.bandwidth import GRANULE, read_footprints

    size = 7 * 10**6 // GRANULE * GRANULE
    found = read_footprints(gpu, footprints=(size,), samples=9)
    found["CUDA, past the L1"] = read_footprints(gpu, languages=("CUDA",), footprints=(size,), samples=9, past_l1=True)[
        "CUDA"
    ]
    (first,) = found["CUDA"]
    figures = []
    for language, (read,) in found.items():
        us = sorted(read.timing.samples_us)
        clock = median(read.timing.clock_mhz)
        figures.append(
            Figure(language, median(us), us[len(us) // 5], us[-1 - len(us) // 5], "events", clock, ours=True)
        )
    published = PUBLISHED_L2_GB_PER_S if "H200" in gpu.device.name else 0.0
    return Row(
        f"read {first.footprint / 1e6:.1f} MB of the L2 over and over",
        tuple(figures),
        bytes=first.bytes,
        roof=published,
        roof_name="published for this card, gpu-benches",
        wanted="0.9 of the published",
    )


def table(title: str, head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A Markdown table under a title."""
    shown = [f"\n## {title}\n", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join([*shown, *(f"| {' | '.join(map(str, line))} |" for line in lines)])


def banks(gpu: Session) -> str:
    """Cycles of a load from shared memory by stride."""
    from gpu_explain.kernels.bank_conflicts import measure

    return table(
        "Shared memory, cycles a load",
        ("stride (words)", "longest queue", "8 warps, independent", "1 warp, each waits"),
        (
            (one.stride, one.longest, f"{one.cycles:.2f}", f"{one.chain_cycles:.2f}")
            for one in measure(gpu, (0, 1, 2, 3, 4, 7, 8, 16, 32, 33))
        ),
    )


def strides(gpu: Session) -> str:
    """Time by the distance of neighbouring lanes."""
    from gpu_explain.kernels.coalescing import LOADS, Pattern, fetched_bytes, granularity, read

    apart = (1, 2, 4, 8, 16, 32)
    near = read(gpu, [Pattern(4 * s, past_l1=True) for s in apart], place="L2")
    far = read(gpu, [Pattern(4 * s) for s in apart], place="DRAM")
    return table(
        f"Stride, {LOADS} loads of 4 bytes; pieces of {granularity(near)} bytes in the L2, {granularity(far)} in DRAM",
        ("stride (floats)", "sectors a warp", "L2: µs", "bytes moved a load", "DRAM: µs", "bytes moved a load"),
        (
            (s, n.touched[1], f"{n.timing.median_us:.1f}", f"{a:.1f}", f"{f.timing.median_us:.1f}", f"{b:.1f}")
            for s, n, f, a, b in zip(apart, near, far, fetched_bytes(near), fetched_bytes(far), strict=True)
        ),
    )


def offsets(gpu: Session) -> str:
    """Time by where the first lane begins."""
    from gpu_explain.kernels.coalescing import PLACES, Pattern, read

    first = (0, 1, 2, 4, 8, 16)
    ways = [(place, past) for place in PLACES for past in (False, True)]
    by_way = [read(gpu, [Pattern(4, 4 * o, past_l1=past) for o in first], place=place) for place, past in ways]
    return table(
        "Offset of the first lane, µs",
        ("offset (floats)", "sectors a warp", *(place + ", past L1" * past for place, past in ways)),
        (
            (offset, readings[0].touched[1], *(f"{one.timing.median_us:.1f}" for one in readings))
            for offset, *readings in zip(first, *by_way, strict=True)
        ),
    )


def widths(gpu: Session) -> str:
    """Rates by the bytes that a lane reads at a time."""
    from gpu_explain.kernels.coalescing import PLACES, WIDTHS, Pattern, read

    by_place = [read(gpu, [Pattern(w, 0, w) for w in WIDTHS], place=place) for place in PLACES]
    return table(
        "Width of a load, lanes side by side, GB/s",
        ("bytes", *PLACES),
        (
            (width, *(f"{one.loads * width / one.us / 1e3:.0f}" for one in readings))
            for width, *readings in zip(WIDTHS, *by_place, strict=True)
        ),
    )


def chains(gpu: Session) -> str:
    """One step of a chain at every level, in cycles and in ns."""
    from gpu_explain.kernels import chase
    from gpu_explain.kernels.device import Nvml, uuid_of
    from gpu_explain.kernels.ring import NODE_BYTES

    l2_bytes = gpu.device.l2_bytes
    rings = {
        "L1": 1 << 16,
        "L2, a quarter": l2_bytes // 4,
        "L2, three quarters": 3 * l2_bytes // 4,
        "DRAM": 4 * l2_bytes,
    }
    footprints = [size // NODE_BYTES * NODE_BYTES for size in rings.values()]
    found = {
        "registers (add)": chase.add_chain(gpu),
        "shared memory": chase.shared_chase(gpu),
        **dict(zip(rings, chase.chase(gpu, footprints=footprints), strict=True)),
        "host, pinned": chase.host_chase(gpu),
    }
    clocks = Nvml(uuid_of(gpu.ordinal)).clocks_mhz()
    return table(
        f"One step of a chain (NVML: {', '.join(f'{name} {mhz} MHz' for name, mhz in clocks.items())})",
        ("where", "cycles", "ns", "SM clock, MHz"),
        (
            (name, f"{median(one.cycles):.1f}", f"{median(one.ns):.1f}", f"{median(one.clock_mhz):.0f}")
            for name, one in found.items()
        ),
    )


def lines(gpu: Session) -> str:
    """Single lines of the L2 from every SM: do SMs and lines lie in two halves?"""
    from gpu_explain.kernels.chase import lines_by_sm
    from gpu_explain.kernels.halves import find_halves

    by_sm = lines_by_sm(gpu)
    halves = find_halves(by_sm)
    every = [cycles for waits in by_sm.values() for cycles in waits]
    return table(
        "Single lines of the L2, both reads of the clock included",
        ("least … most cycles", "halves of SMs", "halves of lines", "own half", "other half", "explained"),
        [
            (
                f"{min(every)} … {max(every)}",
                *(" + ".join(str(len(one)) for one in both) for both in (halves.sms, halves.lines)),
                f"{halves.near:.1f}",
                f"{halves.far:.1f}",
                f"{halves.share:.2f}",
            )
        ]
        if halves
        else [],
    )


def footprints(gpu: Session) -> str:
    """Rates by how much is read over and over."""
    from gpu_explain.kernels.bandwidth import GRANULE, read_footprints

    l2_bytes = gpu.device.l2_bytes
    sizes = (128 << 10, 7 << 20, 14 << 20, l2_bytes // 2, 4 * l2_bytes)
    by_language = read_footprints(gpu, footprints=[size // GRANULE * GRANULE for size in sizes])
    return table(
        "Read over and over by all SMs, GB/s",
        ("footprint (MiB)", *by_language),
        (
            (f"{reads[0].footprint / 2**20:.2f}", *(f"{one.gb_per_s:.0f}" for one in reads))
            for reads in zip(*by_language.values(), strict=True)
        ),
    )


TABLES = (banks, strides, offsets, widths, chains, lines, footprints)
"""What is asked of memory and not compared with anyone."""


def rows(gpu: Session) -> list[Row]:
    """All comparisons."""
    roof = roof_gb_per_s(gpu, "1r1w")
    found = []
    for shape in ((16384, 16384), (16383, 16385)):
        found.append(transposes(gpu, *shape, roof))
        gpu.release()
    for n in (2**28, 2**30):
        found.append(one_pass(gpu, n))
        gpu.release()
    found.append(l2(gpu))
    return found


def main() -> None:
    """Open the GPU, print the tables."""
    from gpu_explain.kernels.opening import open_session

    gpu = open_session()
    print(heading(gpu, "Memory"))
    print(markdown(rows(gpu)))
    for one in TABLES:
        print(one(gpu))
        gpu.release()
    gpu.close()


if __name__ == "__main__":
    raise SystemExit(command(main))
