"""The catalogue holds together: with the code that speaks from it, with CUDA's numbers, and with its page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from gpu_explain.scenes.base.conditions import (
    CATALOGUE,
    Condition,
    Effect,
    Group,
    Platform,
    by_code,
    code_in,
    condition,
    look,
    problem,
    recognise,
    speaking_for,
)
from gpu_explain.scenes.base.conditions.codes import ERRORS
from tools import troubleshooting

ROOT = Path(__file__).resolve().parents[2]
PLATFORM_FIELDS = set(Platform().words())
CONTROLS = {"detail", "extra", "mig"}
RAW_FIELDS = {"evidence", "doing"}


def fields(one: Condition) -> set[str]:
    """What the templates of a condition ask for, the platform's own words left out."""
    names = {name for text in one.templates for _, name, _, _ in Formatter().parse(text) if name}
    return names - PLATFORM_FIELDS


# ---------------------------------------------------------------- in itself


def test_ids_are_unique() -> None:
    assert len({one.id for one in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: one.id)
def test_an_entry_says_what_how_and_what_to_do(one: Condition) -> None:
    assert one.what
    assert one.detected.endswith(".")
    assert not one.what.endswith(".")
    assert "" in one.remedy or one.id == "cancelled"
    assert list(one.remedy)[-1:] in ([""], [])  # what comes after it would never be taken
    for template in one.templates:
        assert all(re.fullmatch(r"\w+", name) for _, name, _, _ in Formatter().parse(template) if name is not None)


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: one.id)
def test_a_filled_entry_has_no_gaps(one: Condition) -> None:
    evidence: dict[str, Any] = dict.fromkeys(fields(one), "EVIDENCE")
    for platform in (Platform(), Platform(distribution="ubuntu", manager="apt"), Platform(container="docker")):
        with speaking_for(platform):
            said = problem(one.id, **evidence)
        assert "{" not in said.sentence
        assert said.sticky == one.sticky
        assert ("EVIDENCE" in said.sentence) == bool(fields(one))


@pytest.mark.parametrize("one", [one for one in CATALOGUE if one.codes or one.signs], ids=lambda one: one.id)
def test_what_is_met_as_a_raw_error_asks_for_nothing_that_such_an_error_lacks(one: Condition) -> None:
    assert fields(one) <= RAW_FIELDS
    assert "{evidence}" in one.why


def test_without_evidence_a_sentence_still_ends_well() -> None:
    said = problem("no-compiler", evidence="")
    assert said.why == "Triton builds its launcher with one at first use"
    assert problem("illegal-access", doing="x", evidence="").why == "A kernel read or wrote memory that is not its own"


def test_evidence_is_not_a_template() -> None:
    assert "{sudo}" in problem("no-compiler", evidence="a folder called {sudo}").why


def test_an_id_that_is_not_there_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        problem("nonsense")


# ---------------------------------------------------------------- with the code


@dataclass(frozen=True)
class Call:
    """A call of ``problem`` somewhere in the code: where, the id when it is written there, and its evidence."""

    where: str
    id: str
    evidence: frozenset[str]


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("app", "kernels", "scenes"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if (ROOT / "scenes/base") not in path.parents:
                yield path, ast.parse(path.read_text(encoding="utf-8"))


def calls() -> Iterator[Call]:
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "problem":
                first = node.args[0]
                id = first.value if isinstance(first, ast.Constant) else ""
                names = frozenset(keyword.arg or "" for keyword in node.keywords) - CONTROLS
                yield Call(f"{path.relative_to(ROOT)}:{node.lineno}", str(id), names)


def test_a_problem_is_made_nowhere_else() -> None:
    makers = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = node.func
            called = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
            if called == "Problem":
                makers.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not makers


def test_every_use_names_an_entry_and_hands_over_what_it_asks_for() -> None:
    found = list(calls())
    assert len(found) > 60
    wrong = []
    for call in found:
        if not call.id:
            continue
        if call.id not in {one.id for one in CATALOGUE}:
            wrong.append(f"{call.where}: {call.id} is not in the catalogue")
        elif call.evidence != fields(condition(call.id)):
            wrong.append(f"{call.where}: {call.id} asks for {fields(condition(call.id))}, got {set(call.evidence)}")
    assert not wrong


def test_every_entry_is_met_somewhere() -> None:
    written = set()
    for _, tree in trees():
        written |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert [one.id for one in CATALOGUE if one.id not in written and not one.codes and not one.signs] == []


def test_what_doctor_does_not_look_for_ends_one_request_only() -> None:
    for group in (Group.WORKER, Group.RECORDINGS, Group.USAGE):
        for one in CATALOGUE:
            if one.group is group:
                assert one.effect is Effect.REQUEST or one.id.startswith("deep-")


# ---------------------------------------------------------------- with CUDA's numbers


def test_every_number_belongs_to_one_entry() -> None:
    numbers = [code for one in CATALOGUE for code in one.codes]
    assert sorted(numbers) == sorted(ERRORS)
    assert len(set(numbers)) == len(numbers)


def test_names_and_numbers_are_those_of_the_driver() -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    for code, (name, _) in ERRORS.items():
        if name != "INSUFFICIENT_DRIVER":  # the runtime's, not the driver's
            assert int(getattr(driver.CUresult, f"CUDA_ERROR_{name}")) == code


def test_the_drivers_own_texts_are_recognised() -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    for code, (name, _) in ERRORS.items():
        assert code_in(f"CUDA_ERROR_{name}: something") == code
        found = by_code(code)
        assert found is not None
        assert recognise(f"CUDA_ERROR_{name}: something") is found
    assert int(driver.CUresult.CUDA_SUCCESS) not in ERRORS


RAW = [
    ("RuntimeError: CUDA error: an illegal memory access was encountered", "illegal-access"),
    ("RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered", "illegal-access"),
    ("RuntimeError: CUDA error: the launch timed out and was terminated", "launch-timeout"),
    ("RuntimeError: CUDA error: device-side assert triggered", "gpu-session-lost"),
    ("RuntimeError: CUDA error: unspecified launch failure", "gpu-session-lost"),
    ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "gpu-ecc"),
    ("OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.", "gpu-memory"),
    ("RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable", "gpu-held"),
    ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "gpu-held"),
    ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
    ("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.", "toolkit-too-new"),
    ("RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU", "no-driver"),
    ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).", "driver-too-old"),
    ("RuntimeError: No CUDA GPUs are available", "no-gpu"),
    ("RuntimeError: Failed to get cuGetProcAddress_v2", "toolkit-too-new"),
    ("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment", "driver-error"),
    ("Error 803: system has unsupported display driver / cuda driver combination", "mismatch"),
    ("Error 804: forward compatibility was attempted on non supported HW", "forward"),
    ("Error 802: system not yet initialized", "fabric"),
    ("NVMLError_LibRmVersionMismatch: Driver/library version mismatch", "mismatch"),
    ("OutOfResources: out of resource: shared memory, Required: 294912, Hardware limit: 101376.", "out-of-resources"),
    ("RuntimeError: Failed to find C compiler. Please specify via CC environment variable", "no-compiler"),
    ("InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx", "no-compiler"),
    ("/tmp/x/main.c:5:10: fatal error: Python.h: No such file or directory", "no-python-headers"),
    ("CalledProcessError: Command '['/usr/bin/gcc', '/tmp/x/main.c']' returned exit status 1.", "compiler-fails"),
    ("CalledProcessError: Command '['/bin/false', '/tmp/x/main.c', '-O3', '-shared']' returned", "compiler-fails"),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/cc'", "no-compiler"),
    ("PTXASError: PTXAS error: Internal Triton PTX codegen error", "triton-compile"),
    ("ptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'", "ptxas-arch"),
    ("nvrtc: error: invalid value for --gpu-architecture (-arch)", "cuda-arch"),
    ("RuntimeError: Failed to dlopen libnvrtc.so.13", "no-nvrtc"),
    ("ImportError: libnvrtc.so.12: cannot open shared object file: No such file or directory", "no-nvrtc"),
    ("ModuleNotFoundError: No module named 'triton'", "no-live"),
    ("ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume", "package-broken"),
    ("OSError: [Errno 28] No space left on device: '/tmp/x'", "disk-full"),
    ("OSError: [Errno 30] Read-only file system: '/root/.triton'", "read-only"),
    ("RuntimeError: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "cupti-refused"),
]


@pytest.mark.parametrize(("text", "id"), RAW, ids=[text[:60] for text, _ in RAW])
def test_raw_errors_are_recognised(text: str, id: str) -> None:
    found = recognise(text)
    assert found is not None
    assert found.id == id


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: n: at least 1 expected, got 0",
        "KeyError: 'blocks'",
        "RuntimeError: the memory of an elephant",
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        "AssertionError: 700",
        "FileNotFoundError: [Errno 2] No such file or directory: '/recordings/x.json.gz'",
        "CalledProcessError: Command '['nvidia-smi']' returned non-zero exit status 9.",
    ],
)
def test_other_errors_are_not(text: str) -> None:
    assert recognise(text) is None
    assert code_in(text) == 0


# ---------------------------------------------------------------- with the platform


@pytest.mark.parametrize(
    ("files", "environ", "expected"),
    [
        ({"etc/os-release": "ID=ubuntu\nID_LIKE=debian\n"}, {}, {"distribution": "ubuntu", "manager": "apt"}),
        ({"etc/os-release": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n'}, {}, {"manager": "dnf"}),
        ({"etc/os-release": "ID=gentoo\n"}, {}, {"manager": "", "container": ""}),
        ({".dockerenv": ""}, {}, {"container": "docker"}),
        ({"run/.containerenv": ""}, {}, {"container": "podman"}),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, {}, {"container": "kubernetes"}),
        ({"proc/self/mounts": "overlay / overlay rw 0 0\n"}, {}, {"container": "docker"}),
        ({"proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\n"}, {}, {"container": ""}),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {"container": "kubernetes"}),
        ({}, {"APPTAINER_CONTAINER": "/x.sif"}, {"container": "apptainer"}),
        ({"proc/version": "Linux version 5.15.1-microsoft-standard-WSL2"}, {}, {"wsl": True}),
        ({"proc/version": "Linux version 6.8"}, {}, {"wsl": False}),
    ],
    ids=str,
)
def test_a_machine_is_known_by_its_files(
    tmp_path: Path, files: dict[str, str], environ: dict[str, str], expected: dict[str, object]
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = look(environ, tmp_path)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_slice_gets_the_remedy_for_slices() -> None:
    assert "larger slice" in problem("gpu-memory", mig=True, doing="x", evidence="y").remedy
    assert "larger slice" not in problem("gpu-memory", doing="x", evidence="y").remedy


def test_an_administrator_needs_no_sudo() -> None:
    for administrator, command in ((True, "apt install"), (False, "sudo apt install")):
        with speaking_for(Platform(manager="apt", administrator=administrator)):
            assert problem("no-compiler", evidence="").remedy.startswith(command)


# ---------------------------------------------------------------- with the page


def test_the_page_is_as_the_catalogue_is() -> None:
    assert troubleshooting.PAGE.read_text(encoding="utf-8") == troubleshooting.page(), (
        "out of date: python tools/troubleshooting.py"
    )
    assert troubleshooting.main(["--check"]) == 0


def test_the_page_names_every_condition_once() -> None:
    text = troubleshooting.page()
    for one in CATALOGUE:
        assert text.count(f"- Condition `{one.id}`") == 1
    assert max(map(len, text.splitlines())) <= 120
    assert "{" not in text


def test_a_page_that_is_out_of_date_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(troubleshooting, "PAGE", page)
    assert troubleshooting.main(["--check"]) == 1
    assert troubleshooting.main([]) == 0
    assert troubleshooting.main(["--check"]) == 0
    page.write_text(page.read_text(encoding="utf-8") + "\n")
    assert troubleshooting.main(["--check"]) == 1
