"""Everything that the kernels on threads, warps and blocks measure, as tables: ``python -m benchmarks.threads``.

Nothing here is a race, so there are no ratios to peers: these are properties of the machine, to be held beside what
others found on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.compare import command, heading
from gpu_explain.kernels import (
    divergence,
    five_steps,
    guard,
    hello,
    identity,
    latency_hiding,
    occupancy,
    ownership,
    partial_warps,
)

if TYPE_CHECKING:
    from gpu_explain.kernels.session import Session

PATHS = (1, 2, 4, 8, 16, 32)
BLOCK_SIZES = (8, 32, 33, 64, 250, 256, 1024)
THREADS = 256
COPIED = (1 << 20, 1 << 24, 1 << 26)


def main() -> None:
    """Open the GPU and print every table."""
    from gpu_explain.kernels.opening import open_session

    gpu = open_session()
    try:
        print(heading(gpu, "Threads, warps and blocks"))
        for table in (who, copies, branches, partial, in_flight, places, worth):
            print(table(gpu), flush=True)
    finally:
        gpu.close()


def who(gpu: Session) -> str:
    """What threads say, who is in a warp, who takes which element, what strays."""
    said = hello.hello(gpu, blocks=64, threads=4)
    firsts = [block for block, thread in said.order if thread == 0]
    late = sum(later < max(firsts[: at + 1]) for at, later in enumerate(firsts))
    rows: list[Sequence[object]] = [
        ("hello, 64 blocks of 4 threads", f"{len(set(said.order))} lines, {late} blocks after a higher one")
    ]
    for threads in BLOCK_SIZES:
        found = identity.identify(gpu, blocks=1, threads=threads)
        rows.append((f"a block of {threads} threads", f"{found.warps} warps, {found.idle_lanes} idle lanes"))
    for offset in (False, True):
        took = ownership.own(gpu, blocks=3, threads=4, offset=offset)
        rows.append((f"3 blocks of 4, {'with' if offset else 'without'} the offset", f"taken {took.writes} times"))
    for checks in (False, True):
        wrote = guard.number_elements(gpu, n=1_000_000, threads=256, guard=checks)
        rows.append(
            (
                f"1 000 000 elements, {wrote.blocks} blocks of 256, {'with' if checks else 'without'} the guard",
                f"{wrote.strays} strays",
            )
        )
    return _table("Who is who", ("launch", "seen"), rows)


def copies(gpu: Session) -> str:
    """The five steps and the same work on the CPU."""
    rows: list[Sequence[object]] = []
    for n in COPIED:
        found = five_steps.host_and_device(gpu, n=n)
        for way in found.gpu:
            rows.append(
                (
                    f"{way.bytes / 1e6:.0f} MB {way.memory}",
                    *(f"{way.median_us(step):.0f}" for step in five_steps.STEPS),
                    f"{way.total_us:.0f}",
                    f"{way.gb_per_s('copy in'):.1f}",
                    f"{way.gb_per_s('copy out'):.1f}",
                    way.wrong,
                )
            )
        cpu = f"{4 * n / 1e6:.0f} MB on the CPU, {found.cpu_threads} threads"
        rows.append((cpu, "", "", "", "", "", f"{median(found.cpu_us):.0f}", "", "", ""))
    head = ("array", *(f"{step} µs" for step in five_steps.STEPS), "all µs", "in GB/s", "out GB/s", "wrong")
    return _table("Five steps", head, rows)


def branches(gpu: Session) -> str:
    """Equal paths by lane and by warp."""
    rows: list[Sequence[object]] = []
    one = divergence.diverge(gpu, paths=1, by="lane").cycles
    for paths in PATHS:
        lane = divergence.diverge(gpu, paths=paths, by="lane")
        warp = divergence.diverge(gpu, paths=paths, by="warp", warps=paths)
        alike = divergence.diverge(gpu, paths=1, by="warp", warps=paths)
        each = lane.path_cycles.values()
        rows.append(
            (
                paths,
                lane.cycles,
                f"{lane.cycles / one / paths:.4f}",
                f"{min(each)} … {max(each)}",
                warp.cycles,
                alike.cycles,
            )
        )
    head = ("paths", "by lane, cycles", "÷ paths ÷ one", "a path", "by warp", "as many warps, one path")
    return _table("Divergence, 1024 dependent multiply-adds a path", head, rows)


def partial(gpu: Session) -> str:
    """Blocks that do not fill their last warp."""
    sizes = partial_warps.partial_warps(gpu)
    first = sizes[0].timing.median_us
    rows = [
        (
            one.threads,
            one.warps,
            f"{one.timing.median_us:.1f}",
            f"{one.timing.median_us / first:.3f}",
            f"{one.tflop_per_s:.1f}",
            f"{median(one.timing.clock_mhz):.0f}",
        )
        for one in sizes
    ]
    head = ("threads a block", "warps", "µs", "÷ first", "TFLOP/s asked for", "MHz")
    return _table(f"Partial warps, {sizes[0].blocks} blocks", head, rows)


def in_flight(gpu: Session) -> str:
    """Loads of one SM by warps and chains."""
    tries = [latency_hiding.loads_in_flight(gpu, chains=latency_hiding.CHAINS) for _ in range(3)]
    rows = []
    for same in zip(*tries, strict=True):
        rates = sorted(one.per_1000_cycles for one in same)
        cycles = [one.latency for one in same]
        rows.append(
            (
                same[0].warps,
                same[0].chains,
                f"{median(rates):.2f} ({rates[0]:.2f} … {rates[-1]:.2f})",
                f"{median(cycles):.0f} ({min(cycles):.0f} … {max(cycles):.0f})",
                same[0].loads,
            )
        )
    head = ("warps", "chains", "loads / 1000 cycles", "cycles a load", "loads")
    return _table("Latency hiding, one SM, random ring in DRAM", head, rows)


def places(gpu: Session) -> str:
    """What takes places on an SM away."""
    shapes = [(held, 256, 0) for held in occupancy.HELD]
    shapes += [(8, threads, 0) for threads in (32, 96, 1024)]
    shapes += [(8, 128, kilobytes * 1024) for kilobytes in (5, 20, 33, 70)]
    rows = []
    for held, threads, shared in shapes:
        one = occupancy.probe(gpu, held=held, threads=threads, shared_bytes=shared)
        by = one.limits
        rows.append(
            (
                threads,
                one.registers,
                shared,
                by.blocks,
                by.threads,
                by.registers,
                "" if by.shared is None else by.shared,
                one.api,
                one.seen,
            )
        )
    head = ("threads", "registers", "shared", "by blocks", "by threads", "by registers", "by shared", "API", "seen")
    return _table("Blocks on an SM", head, rows)


def worth(gpu: Session) -> str:
    """The bandwidth of an addition by blocks on an SM."""
    most = gpu.device.threads_per_sm // THREADS
    found = occupancy.add_by_residents(gpu, residents=range(most, 0, -1), threads=THREADS)
    rows = [
        (one.residents, one.kernel, f"{one.gb_per_s:.0f}", one.in_flight, f"{median(one.timing.clock_mhz):.0f}")
        for one in found
    ]
    head = (f"blocks of {THREADS} on an SM", "kernel", "GB/s", "bytes in flight an SM", "MHz")
    return _table("What a place is worth, 2^26 numbers, L2 flushed", head, rows)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"## {title}", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    raise SystemExit(command(main))
