"""Every fault that doctor knows is brought about, and its sentence and exit code are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_explain.app.detect import judge
from gpu_explain.app.doctor.check import State
from gpu_explain.app.doctor.machine import Terminal
from gpu_explain.app.driver import Driver, ask, understand
from gpu_explain.app.exits import Exit
from gpu_explain.app.packages import installed
from gpu_explain.scenes.base.conditions import Group, Platform, speaking_for
from tests.unit.doctoring import Made, distribution, met
from tests.unit.fakes import Fakes

Break = Callable[[Made], object]


@pytest.fixture
def made(tmp_path: Path, fakes: Fakes) -> Made:
    """A machine on which everything is as it should be."""
    return Made(tmp_path, fakes)


def test_a_machine_on_which_all_is_well_is_fit(made: Made) -> None:
    found = made.examined()
    assert [check.problem for check in found.checks if check.problem is not None] == []
    assert found.exit is Exit.OK
    assert found.gpus == (("Made-up GPU", "9.0", 24_000_000_000),)
    said = " | ".join(check.text for check in found.checks if check.state is State.FOUND)
    for text in (
        "driver 580.159.04 (CUDA 13.0)",
        "Made-up GPU, compute 9.0, 40 SMs, 24 GB (23 free)",
        "opens",
        "nobody else",
        "torch 2.11.0+cu130, CUDA 13.0",
        "triton 3.6.0 (the one this torch wants)",
        "NVRTC 13.0.88",
        "ptxas knows sm_90",
        "C compiler gcc",
        "Python.h",
        "TERM=xterm-256color",
        "120×40",
    ):
        assert text in said
    assert {check.group for check in found.checks} == {
        *(Group.DRIVER, Group.GPU, Group.NEIGHBOURS, Group.PACKAGES, Group.COMPILER, Group.CACHES),
        *(Group.VARIABLES, Group.PROFILER, Group.TERMINAL),
    }


def test_it_leaves_nothing_behind(made: Made) -> None:
    before = sorted(made.folder.rglob("*"))
    made.examined()
    assert sorted(made.folder.rglob("*")) == before


def variables(**values: str) -> Break:
    return lambda made: made.having(**values)


# Condition, what brings it about, what is read, exit code.
DRIVER: list[tuple[str, Break, str, int]] = [
    ("driver-stub", variables(FAKE_INIT="34"), "stub of libcuda is for linking only; cuInit answered 34", 3),
    ("driver-too-old", variables(FAKE_INIT="35"), "cuInit answered 35", 1),
    ("no-gpu", variables(FAKE_INIT="100"), "it sees no GPU. cuInit answered 100", 3),
    ("no-gpu", variables(FAKE_COUNT="0"), "it sees no GPU", 3),
    ("fabric", variables(FAKE_INIT="802"), "sudo systemctl start nvidia-fabricmanager", 1),
    ("mismatch", variables(FAKE_INIT="803"), "An update of the driver that no reboot has followed", 1),
    ("mismatch", variables(FAKE_COUNT="0", FAKE_NVML="18"), "NVML answered 18", 1),
    ("forward", variables(FAKE_INIT="804"), "cuInit answered 804. sudo apt remove", 1),
    ("mps-broken", variables(FAKE_INIT="807"), "MPS does not answer. cuInit answered 807", 1),
    ("driver-error", variables(FAKE_INIT="999"), "does not start. cuInit answered 999", 1),
    ("hidden", variables(CUDA_VISIBLE_DEVICES=""), "It is set to '', and without it 1 GPU is here", 1),
    ("driver-hangs", lambda m: m.having(FAKE_HANGS="cuInit").but(limit_s=1.0), "while starting it (cuInit)", 1),
    ("driver-crashes", variables(FAKE_CRASHES="cuInit"), "ended with code -6, while starting it", 1),
    ("no-nvml", variables(FAKE_NVML="9"), "NVML answered 9", 0),
]
GPU: list[tuple[str, Break, str, int]] = [
    ("gpu-too-old", variables(FAKE_CAPABILITY="61"), "has compute capability 6.1, the kernels need 7.5", 1),
    ("no-tensor-dot", variables(FAKE_CAPABILITY="75"), "7.5", 0),
    ("gpu-prohibited", variables(FAKE_MODE="2"), "nvidia-smi -c DEFAULT", 1),
    ("gpu-exclusive", variables(FAKE_MODE="3"), "The compute mode of Made-up GPU is Exclusive Process", 0),
    ("gpu-held", variables(FAKE_MODE="3", FAKE_CONTEXT="46"), "answered 46 on GPU 0", 1),
    ("gpu-unusable", variables(FAKE_CONTEXT="201"), "cuDevicePrimaryCtxRetain answered 201", 1),
    ("gpu-unusable", variables(FAKE_ALLOC="2"), "cuMemAlloc answered 2 on GPU 0: its memory is full", 1),
    ("driver-hangs", lambda m: m.having(FAKE_HANGS="context").but(limit_s=1.0), "while opening the GPU", 1),
    ("driver-crashes", variables(FAKE_CRASHES="context"), "while opening the GPU", 1),
    ("mig-slice", variables(FAKE_NAME="NVIDIA A100 MIG 1g.5gb"), "Its profile is 1g.5gb, with 40 SMs", 0),
    ("mig-empty", variables(FAKE_COUNT="0", FAKE_MIG="1"), "sudo nvidia-smi mig -cgi 0 -C", 1),
    ("gpu-full", variables(FAKE_NAME="A MIG 1g.5gb", FAKE_FREE="500000000"), "Use a larger slice", 0),
    ("watchdog", variables(FAKE_WATCHDOG="1"), "Kernels on Made-up GPU have a time limit", 0),
    ("gpu-full", variables(FAKE_FREE="500000000"), "0.5 of 24.0 GB are free on Made-up GPU", 0),
    ("neighbours", variables(FAKE_PROCESSES="2"), "2 other programs holding 4.0 GB", 0),
    ("neighbours", variables(FAKE_BUSY="80"), "kernels ran 80 % of the time", 0),
    ("mps", variables(CUDA_MPS_PIPE_DIRECTORY="/run/mps"), "CUDA_MPS_PIPE_DIRECTORY=/run/mps", 0),
]
PACKAGES: list[tuple[str, Break, str, int]] = [
    ("no-live", lambda m: m.remove("torch"), "not installed: torch", 1),
    ("no-live", lambda m: m.remove("cuda-core", "triton"), "not installed: triton, cuda-core", 1),
    ("torch-cpu", lambda m: m.torch("2.11.0+cpu", ""), "torch 2.11.0+cpu was built without CUDA", 1),
    ("torch-too-old", lambda m: m.torch("2.7.1+cu128", "12.8"), "It is 2.7.1+cu128, and 2.9 or newer is needed", 1),
    (
        "driver-too-old",
        variables(FAKE_VERSION="12040"),
        "The driver supports CUDA 12.4, torch was built for 13.0",
        1,
    ),
    ("toolkit-too-new", variables(FAKE_VERSION="12040"), "cuda-bindings is of CUDA 13", 1),
    (
        "nvrtc-pairing",
        lambda m: distribution(m.site, "cuda-bindings", "12.9.0"),
        "NVRTC is of CUDA 13, cuda-bindings of CUDA 12",
        1,
    ),
    (
        "triton-mismatch",
        lambda m: distribution(m.site, "triton", "3.7.1"),
        "asks for triton 3.6.0, and 3.7.1 is installed; torch.compile is the first to fail. pip install triton==3.6.0",
        0,
    ),
    ("python-untried", lambda m: m.but(python=(3, 15)), "It is 3.15, the newest one tried is 3.13", 0),
]
COMPILER: list[tuple[str, Break, str, int]] = [
    ("no-compiler", lambda m: (m.folder / "bin/gcc").unlink(), "looked for $CC, gcc and clang on PATH", 1),
    ("no-compiler", variables(CC="/nowhere/cc"), "$CC is '/nowhere/cc', which is no program", 1),
    ("no-python-headers", lambda m: (m.folder / "include/Python.h").unlink(), "sudo apt install python3.12-dev", 1),
    ("ptxas-missing", lambda m: next(m.site.rglob("bin/ptxas")).unlink(), "does not hold it", 1),
    ("ptxas-missing", variables(TRITON_PTXAS_PATH="/nowhere/ptxas"), "TRITON_PTXAS_PATH is '/nowhere/ptxas'", 1),
    (
        "ptxas-arch",
        variables(FAKE_CAPABILITY="89"),
        "ptxas assembles for sm_75 to sm_90, this GPU is sm_89",
        1,
    ),
    ("cuda-arch", variables(FAKE_NVRTC_LAST="89"), "NVRTC 13.0.88 compiles for sm_75 to sm_89, this GPU is sm_90", 1),
    (
        "no-nvrtc",
        lambda m: next(m.site.rglob("libnvrtc.so.13")).write_text("no library"),
        "The system says: ",
        1,
    ),
]
SURROUNDINGS: list[tuple[str, Break, str, int]] = [
    ("environment", variables(CUDA_LAUNCH_BLOCKING="1"), "CUDA_LAUNCH_BLOCKING (every launch would wait", 0),
    ("environment", variables(TRITON_INTERPRET="1"), "TRITON_INTERPRET (Triton kernels would run on the CPU)", 0),
    ("environment", variables(CUDA_INJECTION64_PATH="/x.so"), "a profiler would slow every launch", 0),
    ("dumb-terminal", variables(TERM="dumb"), "TERM is 'dumb': it cannot place letters", 0),
    ("dumb-terminal", variables(TERM=""), "TERM is ''", 0),
    ("no-utf8", lambda m: m.but(terminal=Terminal(True, "latin-1", (120, 40))), "This one is set to latin-1", 0),
    (
        "small-terminal",
        lambda m: m.but(terminal=Terminal(True, "utf-8", (40, 10))),
        "It has 40×10 characters, 60×18 are needed",
        0,
    ),
    ("no-colour", variables(NO_COLOR="1"), "NO_COLOR is set", 0),
]


@pytest.mark.parametrize(
    ("id", "breaks", "says", "code"),
    [*DRIVER, *GPU, *PACKAGES, *COMPILER, *SURROUNDINGS],
    ids=[f"{id} {number}" for number, (id, *_) in enumerate([*DRIVER, *GPU, *PACKAGES, *COMPILER, *SURROUNDINGS])],
)
def test_each_fault_has_its_sentence_and_exit_code(made: Made, id: str, breaks: Break, says: str, code: int) -> None:
    breaks(made)
    found = made.examined()
    check = met(found, id)
    assert check.problem is not None
    assert says in check.problem.sentence
    assert check.problem.remedy
    assert found.exit == code


def test_no_fault_brings_another_one_along(made: Made) -> None:
    """What is said is about what is wrong, and about nothing else."""
    made.having(NO_COLOR="1", CUDA_LAUNCH_BLOCKING="1", FAKE_WATCHDOG="1")
    ids = {check.problem.id for check in made.examined().checks if check.problem is not None}
    assert ids == {"no-colour", "environment", "watchdog"}


# ---------------------------------------------------------------- no driver


def test_without_a_driver_and_without_hardware_there_is_no_gpu(made: Made, fakes: Fakes) -> None:
    found = made.having(LD_LIBRARY_PATH=fakes.nothing).examined()
    assert "libcuda.so.1 does not load" in met(found, "no-driver").problem.sentence  # type: ignore[union-attr]
    assert found.exit is Exit.NO_GPU
    assert "gpu-explain --replay" in found.verdict


@pytest.mark.parametrize(
    ("platform", "says"),
    [
        (Platform(distribution="ubuntu", manager="apt"), "sudo ubuntu-drivers install"),
        (Platform(distribution="debian", manager="apt", administrator=True), ". apt install nvidia-driver"),
        (Platform(distribution="fedora", manager="dnf"), "akmod-nvidia"),
        (Platform(distribution="ubuntu", manager="apt", container="docker"), "docker run --gpus all"),
        (Platform(container="podman"), "--device nvidia.com/gpu=all"),
        (Platform(container="kubernetes"), "nvidia.com/gpu: 1"),
        (Platform(distribution="ubuntu", manager="apt", wsl=True), "in Windows"),
        (Platform(), "package manager"),
    ],
    ids=lambda value: "" if isinstance(value, str) else f"{value.distribution} {value.container} {value.wsl}",
)
def test_a_gpu_without_its_driver_gets_the_command_of_the_platform(
    made: Made, fakes: Fakes, platform: Platform, says: str
) -> None:
    (made.root / "dev").mkdir()
    (made.root / "dev/nvidia0").touch()
    found = made.having(LD_LIBRARY_PATH=fakes.nothing).but(platform=platform).examined()
    problem = met(found, "gpu-without-driver").problem
    assert problem is not None
    assert says in problem.sentence
    assert found.exit is Exit.FAILED


@pytest.mark.parametrize("environment", ["conda", "venv", "managed"])
def test_what_is_missing_is_installed_as_this_python_installs(made: Made, environment: str) -> None:
    platform = Platform(environment=environment, manager="apt")
    made.remove("triton")
    (made.folder / "bin/gcc").unlink()
    found = made.but(platform=platform).examined()
    install, compiler = met(found, "no-live").problem, met(found, "no-compiler").problem
    assert install is not None
    assert compiler is not None
    assert install.remedy == (
        "python3 -m venv gpu-explain-env && gpu-explain-env/bin/pip install 'gpu-explain[live]'"
        if environment == "managed"
        else "pip install 'gpu-explain[live]'"
    )
    assert compiler.remedy.startswith("conda install" if environment == "conda" else "sudo apt install gcc")


def test_hardware_that_the_driver_does_not_see_is_exit_code_one(made: Made) -> None:
    device = made.root / "sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030000\n")
    found = made.having(FAKE_INIT="100").examined()
    assert met(found, "no-gpu").evidence == ("an NVIDIA GPU is on the PCI bus",)
    assert found.exit is Exit.FAILED


def test_without_a_gpu_nothing_that_only_live_mode_needs_is_a_fault(made: Made, fakes: Fakes) -> None:
    made.remove("torch")
    (made.folder / "bin/gcc").unlink()
    found = made.having(LD_LIBRARY_PATH=fakes.nothing, CUDA_LAUNCH_BLOCKING="1").examined()
    assert [check.problem.id for check in found.checks if check.problem is not None] == ["no-driver"]
    spared = [check.text for check in found.checks if check.state is State.NOT_APPLICABLE]
    assert any("there is no C compiler: nothing to mend without a GPU" in text for text in spared)


# ---------------------------------------------------------------- several GPUs, things not known


def test_each_of_several_gpus_is_told_apart(made: Made) -> None:
    found = made.having(FAKE_COUNT="2").examined()
    texts = [check.text for check in found.checks if check.group is Group.GPU]
    assert [text.split(":")[0] for text in texts if "SMs" in text] == ["GPU 0", "GPU 1"]
    assert found.exit is Exit.OK


def test_without_nvml_who_else_is_there_could_not_be_checked(made: Made, fakes: Fakes) -> None:
    found = made.having(LD_LIBRARY_PATH=fakes.cuda_only).examined()
    states = {check.id: check.state for check in found.checks}
    assert states["nvml"] is states["neighbours"] is State.UNKNOWN
    assert found.exit is Exit.OK


def test_piped_output_has_no_terminal_and_that_is_no_fault(made: Made) -> None:
    found = made.but(terminal=Terminal(False, "utf-8", None)).examined()
    states = {check.id: check.state for check in found.checks}
    assert states["terminal"] is states["size"] is State.NOT_APPLICABLE
    assert found.exit is Exit.OK


def test_a_torch_that_names_no_triton_takes_any(made: Made) -> None:
    made.torch("2.11.0+cu130", "13.0")
    distribution(made.site, "triton", "9.9")
    assert made.examined().exit is Exit.OK


def test_a_compiler_named_by_a_variable_is_enough(made: Made) -> None:
    (made.folder / "bin/gcc").rename(made.folder / "bin/mine")
    assert made.having(CC="mine").examined().exit is Exit.OK


def test_a_compiler_called_clang_is_enough(made: Made) -> None:
    (made.folder / "bin/gcc").rename(made.folder / "bin/clang")
    assert made.examined().exit is Exit.OK


def test_an_nvrtc_of_the_toolkit_is_enough(made: Made) -> None:
    library = next(made.site.rglob("libnvrtc.so.13"))
    (made.folder / "toolkit/lib64").mkdir(parents=True)
    library.rename(made.folder / "toolkit/lib64/libnvrtc.so.13")
    made.remove("nvidia-cuda-nvrtc")
    found = made.having(CUDA_HOME=str(made.folder / "toolkit")).examined()
    (check,) = (check for check in found.checks if check.id == "nvrtc")
    assert check.state is State.FOUND


# ---------------------------------------------------------------- doctor and the walkthrough agree


@pytest.mark.parametrize(
    "breaks",
    [lambda _: None, *(breaks for _, breaks, _, _ in [*DRIVER, *PACKAGES])],
)
def test_whatever_keeps_the_walkthrough_from_going_live_doctor_says_in_the_same_words(
    made: Made, breaks: Break
) -> None:
    breaks(made)
    environ = made.machine.environ
    with speaking_for(made.machine.platform):
        driver = understand(ask(environ, limit_s=made.machine.limit_s), environ, made.root)
        why = judge(driver, installed(made.machine.path)) if isinstance(driver, Driver) else driver
    found = made.examined()
    if why is None:
        assert found.exit is Exit.OK
    else:
        assert why.sentence in {check.problem.sentence for check in found.checks if check.problem is not None}
        assert found.exit is not Exit.OK
