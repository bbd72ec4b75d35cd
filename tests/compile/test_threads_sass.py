"""What the kernels on threads, warps and blocks measure rests on their machine code: it is read here."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.compile.sass import ARCHITECTURES, machine_code

triton = pytest.importorskip("triton", reason="triton is not installed")
pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed", exc_type=ImportError)

FILES = (
    "hello.cu",
    "square.cu",
    "identity.cu",
    "ownership.cu",
    "guard.cu",
    "divergence.cu",
    "partial_warps.cu",
    "latency_hiding.cu",
    "occupancy.cu",
    "blocks.cu",
    "grid.cu",
    "flag.cu",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: a file is compiled once an architecture."""
    return tmp_path_factory.mktemp("sass")


every_architecture = pytest.mark.parametrize("arch", ARCHITECTURES)


def fused(instructions: list[str]) -> list[tuple[int, str]]:
    """Place and text of each float multiply-add."""
    return [(at, one) for at, one in enumerate(instructions) if re.match(r"(@!?U?P\d )?FFMA", one)]


def clocks(instructions: list[str]) -> list[int]:
    return [at for at, one in enumerate(instructions) if "SR_CLOCKLO" in one]


@every_architecture
@pytest.mark.parametrize("name", FILES)
def test_nothing_is_spilled(name: str, arch: str, folder: Path) -> None:
    for kernel, code in machine_code(name, arch, folder).items():
        # printf's arguments travel through local memory: that is how it is called.
        local = [one for one in code if re.match(r"(@!?U?P\d )?(LDL|STL)", one)]
        assert not local or kernel == "hello", kernel


@every_architecture
def test_there_are_32_paths_of_16_multiply_adds_each_with_a_constant_of_its_own(arch: str, folder: Path) -> None:
    code = machine_code("divergence.cu", arch, folder)["diverge"]
    found = fused(code)
    assert len(found) == 32 * 16
    assert not any(one.startswith("@") for _, one in found)
    runs = [[one for _, one in found[at : at + 16]] for at in range(0, len(found), 16)]
    constants: list[str] = []
    for number, run in enumerate(runs):
        # Nothing but the loop's own counting stands between the multiply-adds of a path.
        first, last = found[16 * number][0], found[16 * number + 15][0]
        assert last - first < 16 + 6
        own = {one.split(", ")[-1] for one in run}
        assert len(own) == 1
        constants += own
        for earlier, later in pairwise(run):  # each needs the one before
            result = re.findall(r"R\d+", earlier)[0]
            assert result in re.findall(r"R\d+", later)[1:]
    assert len(set(constants)) == 32


@every_architecture
def test_a_path_is_timed_from_before_its_first_to_after_its_last_multiply_add(arch: str, folder: Path) -> None:
    code = machine_code("divergence.cu", arch, folder)["diverge"]
    reads, found = clocks(code), fused(code)
    for number in range(32):
        first, last = found[16 * number][0], found[16 * number + 15][0]
        before = max(at for at in reads if at < first)
        after = min(at for at in reads if at > last)
        if number:
            assert before > found[16 * number - 1][0]
        result = re.findall(r"R\d+", code[last])[0]
        waits = [one for one in code[last + 1 : after] if re.search(rf"\b{result}\b", one.partition(",")[2])]
        assert waits, "the end must not be read before the result is there"


@every_architecture
def test_the_issue_bound_loop_is_nearly_all_multiply_adds_of_eight_chains(arch: str, folder: Path) -> None:
    code = machine_code("partial_warps.cu", arch, folder)["issue_bound"]
    longest: list[str] = max(
        (code[first[0] : last[0] + 1] for first, last in zip(fused(code), fused(code)[63:], strict=False)),
        key=lambda piece: sum("FFMA" in one for one in piece) / len(piece),
    )
    assert sum("FFMA" in one for one in longest) == 64
    assert len(longest) <= 64 + 6
    results = Counter(re.findall(r"R\d+", one)[0] for one in longest if "FFMA" in one)
    assert len(results) == 8
    assert not any(re.match(r"LDG|STG|LDS|STS", one) for one in longest)


@every_architecture
@pytest.mark.parametrize("chains", [1, 2, 4, 8])
def test_all_loads_of_a_round_are_issued_before_the_first_is_waited_for(arch: str, chains: int, folder: Path) -> None:
    code = machine_code("latency_hiding.cu", arch, folder)[f"loads_in_flight_{chains}"]
    reads = clocks(code)
    assert len(reads) == 2 * chains
    issued, arrived = reads[:chains], reads[chains:]
    loads = [at for at in range(issued[0], arrived[0]) if "LDG" in code[at]]
    assert len(loads) == chains
    assert all(".64" in code[at] for at in loads)
    for clock, load in zip(issued, loads, strict=True):
        assert clock < load
    for number, (load, clock) in enumerate(zip(loads, arrived, strict=True)):
        loaded = int(re.search(r"LDG\S*\s+R(\d+)", code[load]).group(1))  # type: ignore[union-attr]
        earlier = arrived[number - 1] if number else loads[-1]
        waits = [
            one
            for one in code[earlier + 1 : clock]
            if "SETP" in one and re.search(rf"\bR({loaded}|{loaded + 1})\b", one)
        ]
        assert waits, "a clock must not be read before the value is there"
        # Nobody looks at the value before the others have been asked for.
        assert not any(re.search(rf"\bR({loaded}|{loaded + 1})\b", one) for one in code[load + 1 : loads[-1] + 1])


@every_architecture
@pytest.mark.parametrize("held", [8, 32, 64, 128, 192])
def test_what_is_held_is_read_before_the_wait_and_used_after_it(arch: str, held: int, folder: Path) -> None:
    code = machine_code("occupancy.cu", arch, folder)[f"hold_registers_{held}"]
    naps = [at for at, one in enumerate(code) if "NANOSLEEP" in one]
    loads = [at for at, one in enumerate(code) if re.match(r"LDG", one)]
    assert len(loads) == held
    assert max(loads) < naps[0]
    held_in = {re.search(r"LDG\S*\s+(R\d+)", code[at]).group(1) for at in loads}  # type: ignore[union-attr]
    assert len(held_in) == held
    used = {register for one in code[naps[-1] :] for register in re.findall(r"R\d+", one)}
    assert held_in <= used


@every_architecture
def test_one_addition_loads_four_bytes_and_the_other_sixteen(arch: str, folder: Path) -> None:
    code = machine_code("occupancy.cu", arch, folder)
    quads = [one for one in code["add_quads"] if re.search(r"LDG|STG", one)]
    assert len(quads) == 3
    assert all(".128" in one for one in quads)
    each = [one for one in code["add_each"] if re.search(r"LDG|STG", one)]
    assert len(each) == 3
    assert not any(re.search(r"\.(64|128)", one.split(" desc")[0].split("[")[0]) for one in each)


@every_architecture
def test_unguarded_stores_are_unconditional(arch: str, folder: Path) -> None:
    code = machine_code("guard.cu", arch, folder)
    assert not any(one.startswith("@") and "BRA" not in one for one in code["number_unguarded"])
    assert any(re.match(r"@!?P\d (EXIT|STG|BRA)", one) for one in code["number_guarded"])
