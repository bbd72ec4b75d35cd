"""What the blocks of one launch did: where each ran, from when to when."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


@dataclass(frozen=True)
class Trace:
    """The recording of one traced launch, one entry per block in every column.

    Times are ns since the first block's start, read from ``%globaltimer``, which moves in
    steps of ``step_ns``. ``%smid`` is a virtual number: it says which blocks shared an SM, not
    where on the chip that SM lies.

    Attributes:
        name: Stable id inside its measurement.
        title: A sentence fragment about what was launched.
        kernel: Name of the kernel function.
        language: ``CUDA`` or ``Triton``.
        threads: Threads in a block.
        step_ns: The step of ``%globaltimer`` on this GPU as measured, in ns.
        sm: SM on which each block started.
        sm_end: SM on which each block ended.
        start_ns, end_ns: Start and end of each block, in ns.
        cycles: SM clock cycles from a block's start to its end.
        ticket: Place of each block in the order of arrival (an atomic counter), from 0.
    """

    name: str
    title: str
    kernel: str
    language: str
    threads: int
    step_ns: int
    sm: tuple[int, ...]
    sm_end: tuple[int, ...]
    start_ns: tuple[int, ...]
    end_ns: tuple[int, ...]
    cycles: tuple[int, ...]
    ticket: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse columns of different lengths, and what no launch can have done."""
        columns = (self.sm, self.sm_end, self.start_ns, self.end_ns, self.cycles, self.ticket)
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"trace {self.name}: columns of different lengths")
        if not self.sm:
            raise ValueError(f"trace {self.name}: no blocks")
        if self.threads < 1 or self.step_ns < 1:
            raise ValueError(f"trace {self.name}: {self.threads} threads and a timer step of {self.step_ns} ns")
        if any(min(column) < 0 for column in columns) or max(map(max, columns)) >= 1 << 63:
            raise ValueError(f"trace {self.name}: a number that no counter of a GPU can hold")
        if any(end < start for start, end in zip(self.start_ns, self.end_ns, strict=True)):
            raise ValueError(f"trace {self.name}: a block ends before it starts")

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.sm, self.start_ns, self.end_ns))

    def __hash__(self) -> int:
        """Computed once: layouts are cached by trace, and frames ask for them thirty times a second."""
        return self._hash

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.sm)

    @cached_property
    def span_ns(self) -> int:
        """From the first start to the last end, in ns."""
        return max(self.end_ns) - min(self.start_ns)

    @cached_property
    def sms(self) -> tuple[int, ...]:
        """The SMs that ran a block, ascending."""
        return tuple(sorted(set(self.sm)))

    @cached_property
    def by_sm(self) -> dict[int, tuple[int, ...]]:
        """For each SM its blocks in order of start."""
        found: dict[int, list[int]] = defaultdict(list)
        for block in self.in_order:
            found[self.sm[block]].append(block)
        return {sm: tuple(found[sm]) for sm in self.sms}

    @cached_property
    def in_order(self) -> tuple[int, ...]:
        """Blocks in order of start (ties by ticket)."""
        return tuple(sorted(range(self.blocks), key=lambda b: (self.start_ns[b], self.ticket[b])))

    @cached_property
    def residents(self) -> tuple[tuple[int, int], ...]:
        """Steps ``(ns, blocks resident from then on)`` over the whole GPU, times ascending."""
        return _steps(self.start_ns, self.end_ns)

    @cached_property
    def peak(self) -> int:
        """Most blocks resident at once on the whole GPU."""
        return max(count for _, count in self.residents)

    @cached_property
    def peak_by_sm(self) -> dict[int, int]:
        """Most blocks resident at once on each SM."""
        return {sm: max(count for _, count in self.residents_of(sm)) for sm in self.sms}

    @cached_property
    def _sorted(self) -> tuple[list[int], list[int]]:
        return sorted(self.start_ns), sorted(self.end_ns)

    def started_by(self, ns: float) -> int:
        """Blocks that have started by a time, in ns."""
        return bisect_right(self._sorted[0], ns)

    def ended_by(self, ns: float) -> int:
        """Blocks that have ended by a time, in ns."""
        return bisect_right(self._sorted[1], ns)

    def residents_of(self, sm: int) -> tuple[tuple[int, int], ...]:
        """Steps ``(ns, blocks resident from then on)`` of one SM, times ascending."""
        blocks = self.by_sm.get(sm, ())
        return _steps(tuple(self.start_ns[b] for b in blocks), tuple(self.end_ns[b] for b in blocks))

    def resident_at(self, ns: float) -> int:
        """Blocks resident at a time, in ns."""
        return self.started_by(ns) - self.ended_by(ns)

    @cached_property
    def moved(self) -> int:
        """Blocks that ended on another SM than they started on."""
        return sum(a != b for a, b in zip(self.sm, self.sm_end, strict=True))

    @cached_property
    def out_of_order(self) -> int:
        """Blocks that arrived after a block with a higher number."""
        highest, found = -1, 0
        for block in sorted(range(self.blocks), key=self.ticket.__getitem__):
            if block < highest:
                found += 1
            highest = max(highest, block)
        return found

    @cached_property
    def median_duration_ns(self) -> float:
        """Median time from a block's start to its end, in ns."""
        durations = sorted(e - s for s, e in zip(self.start_ns, self.end_ns, strict=True))
        middle = len(durations) // 2
        return durations[middle] if len(durations) % 2 else (durations[middle - 1] + durations[middle]) / 2

    @cached_property
    def last_end_by_sm(self) -> dict[int, int]:
        """When each SM's last block ended, in ns."""
        return {sm: max(self.end_ns[b] for b in blocks) for sm, blocks in self.by_sm.items()}

    @cached_property
    def last_sm(self) -> int:
        """The SM that worked longest (the lowest number among equals)."""
        return max(self.last_end_by_sm, key=lambda sm: (self.last_end_by_sm[sm], -sm))

    @cached_property
    def tail_ns(self) -> float:
        """From the end of half of the SMs that worked to the end of the last one, in ns."""
        ends = sorted(self.last_end_by_sm.values())
        return self.span_ns - ends[(len(ends) - 1) // 2]

    def working_at(self, ns: float) -> int:
        """SMs with a resident block at a time, in ns."""
        return sum(any(self.start_ns[b] <= ns < self.end_ns[b] for b in blocks) for blocks in self.by_sm.values())

    @cached_property
    def busy_ns(self) -> dict[int, int]:
        """For each SM the time in which it had at least one block, in ns."""
        found = {}
        for sm in self.sms:
            steps = self.residents_of(sm)
            pairs = pairwise(steps)
            found[sm] = sum(until - at for (at, count), (until, _) in pairs if count)
        return found

    @cached_property
    def clock_mhz(self) -> float:
        """Median SM clock over the blocks, from cycles and ns, in MHz; 0 when no block lasted a step."""
        clocks = sorted(
            c * 1000 / (e - s) for c, s, e in zip(self.cycles, self.start_ns, self.end_ns, strict=True) if e > s
        )
        return clocks[len(clocks) // 2] if clocks else 0.0

    def rows(self, sm: int) -> tuple[tuple[int, ...], ...]:
        """An SM's blocks laid into rows in which none overlap, each block in the first free row.

        A row is a way to draw, not a place in the SM: which slot a block sat in is not recorded.
        """
        if sm not in self._rows:
            self._rows[sm] = self._lay(sm)
        return self._rows[sm]

    @cached_property
    def _rows(self) -> dict[int, tuple[tuple[int, ...], ...]]:
        return {}

    def _lay(self, sm: int) -> tuple[tuple[int, ...], ...]:
        rows: list[list[int]] = []
        for block in self.by_sm.get(sm, ()):
            for row in rows:
                if self.end_ns[row[-1]] <= self.start_ns[block]:
                    row.append(block)
                    break
            else:
                rows.append([block])
        return tuple(tuple(row) for row in rows)


def _steps(starts: tuple[int, ...], ends: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Count of open intervals as a step function; an end at a tick comes before a start at it."""
    change: dict[int, int] = defaultdict(int)
    for start in starts:
        change[start] += 1
    for end in ends:
        change[end] -= 1
    steps, count = [], 0
    for at in sorted(change):
        count += change[at]
        steps.append((at, count))
    return tuple(steps)
