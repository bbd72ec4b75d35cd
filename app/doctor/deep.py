"""``--deep``: kernels are compiled, launched and checked, in child processes with a time limit for each trial."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import msgspec

from gpu_explain.app.doctor.check import Check, found, unknown, wrong
from gpu_explain.app.environment import worker_environment
from gpu_explain.scenes.base.conditions import Group, problem
from gpu_explain.scenes.base.deep import TRIALS, Trial, Tried, decode

DEEP_CHECK = (sys.executable, "-P", "-m", "gpu_explain.kernels.deep_check")
"""The child's command, by module name: the app imports no kernels."""

_GRACE_S = 10.0
"""What a child that answers no more is given to end by itself, in s."""

_GROUPS = {"open": Group.GPU, "cuda": Group.COMPILER, "triton": Group.COMPILER, "compile": Group.COMPILER}
_CACHES = {
    "GPU_EXPLAIN_CACHE": "ours",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "CUDA_CACHE_PATH": "cuda",
}


@dataclass(frozen=True)
class _Ending:
    """How a child ended before it had done all: ``hung`` or ``died``, in words, and what it wrote."""

    hung: bool
    why: str
    output: str


def deep_checks(
    environ: Mapping[str, str],
    progress: Callable[[str], None],
    *,
    command: Sequence[str] = DEEP_CHECK,
    trials: Sequence[Trial] = TRIALS,
) -> Iterator[Check]:
    """Try everything, a check for each. ``progress`` is told what is being tried.

    A child that hangs, crashes or loses the GPU is replaced by a new one for what is left; one that cannot open
    the GPU is not, since no other could.
    """
    left = list(trials)
    with tempfile.TemporaryDirectory(prefix="gpu-explain-doctor-", ignore_cleanup_errors=True) as folder:
        clean, _ = worker_environment(environ, bytecode=Path(folder, "bytecode"))  # doctor leaves nothing
        clean |= {name: os.path.join(folder, sub) for name, sub in _CACHES.items()}  # noqa: PTH118
        while left:
            ending, before = None, len(left)
            for said in _child(command, clean, tuple(left), progress):
                if isinstance(said, _Ending):
                    ending = said
                    break
                trial = next((one for one in left if one.id == said.id), None)
                if trial is not None:
                    left.remove(trial)
                    yield _check(trial, said)
                if said.id == "open" and said.problem is not None:
                    if trial is None:  # it had opened before: what it did since has lost it
                        yield _check(TRIALS[0], said)
                    yield from (_untried(one) for one in left)
                    return
            if ending is None and len(left) == before:
                ending = _Ending(hung=False, why="It did not say what became of it", output="")
            if ending is not None and left:
                trial = left.pop(0)
                yield _broken(trial, ending)
                if trial.id == "open":
                    yield from (_untried(one) for one in left)
                    return


def _child(
    command: Sequence[str], environ: Mapping[str, str], trials: Sequence[Trial], progress: Callable[[str], None]
) -> Iterator[Tried | _Ending]:
    """Run one child; what it says, and at last how it ended unless it tried all or said why not."""
    receive, report = os.pipe()
    with tempfile.TemporaryFile() as output, os.fdopen(receive, "rb", buffering=0) as answers:
        try:
            process = subprocess.Popen(
                [*command, "--report", str(report), *(trial.id for trial in trials)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(report,),
                start_new_session=True,
                env=dict(environ),
            )
        except OSError as error:
            yield _Ending(hung=False, why=f"It could not be started: {error}", output="")
            return
        finally:
            os.close(report)
        try:
            waiting = list(trials)
            # Another process than the first must open the GPU anew before it goes on.
            extra = 0.0 if waiting[0].id == "open" else TRIALS[0].limit_s
            for line in _lines(answers, waiting, extra, progress):
                if line is None:
                    late = waiting[0]
                    yield _Ending(True, f"It was ended after {late.limit_s:.0f} seconds", _tail(output))
                    return
                try:
                    said = decode(line)
                except msgspec.DecodeError as error:
                    yield _Ending(False, f"It said something that is no answer ({error})", _tail(output))
                    return
                yield said
                waiting = [trial for trial in waiting if trial.id != said.id]
                if said.problem is not None and (said.problem.sticky or said.id == "open"):
                    return
                if not waiting:
                    return
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
            yield _Ending(False, _how(process.returncode), _tail(output))
        finally:
            _end(process)


def _lines(
    answers: IO[bytes], waiting: list[Trial], extra: float, progress: Callable[[str], None]
) -> Iterator[bytes | None]:
    """Lines as they come, each within the limit of the trial that it is about; ``None`` when that has passed."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        for trial in list(waiting):
            progress(f"{trial.doing} …")
            deadline = time.monotonic() + trial.limit_s + extra
            extra = 0.0
            while b"\n" not in rest:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    yield None
                    return
                data = answers.read(65536)
                if not data:
                    return
                rest += data
            line, _, rest = rest.partition(b"\n")
            yield line


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"It was killed by {signal.Signals(-code).name}"
    return "It stopped answering" if code is None else f"It ended by itself with exit code {code}"


def _tail(output: IO[bytes]) -> str:
    output.seek(0)
    return "\n".join(output.read().decode("utf-8", "replace").splitlines()[-20:])


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child and the compilers that it started. One stuck in the driver is not waited for."""
    if process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)


def _group(trial: Trial) -> Group:
    return _GROUPS.get(trial.id, Group.PROFILER)


def _check(trial: Trial, tried: Tried) -> Check:
    id = f"deep-{trial.id}"
    if tried.problem is not None:
        # Without the profiler live mode works; without kernels it does not, whatever they met.
        failed = wrong(id, _group(trial), tried.problem, *tried.evidence)
        return replace(failed, fatal=trial.id != "profiler" or tried.problem.sticky)
    return found(id, _group(trial), f"{tried.text} ({tried.seconds:.1f} s)", *tried.evidence)


def _broken(trial: Trial, ending: _Ending) -> Check:
    id = "deep-hung" if ending.hung else "deep-died"
    doing = f"{trial.doing[0].upper()}{trial.doing[1:]}"
    met = problem(id, doing=doing, evidence=ending.why, detail=ending.output)
    return replace(wrong(f"deep-{trial.id}", _group(trial), met), fatal=trial.id != "profiler")


def _untried(trial: Trial) -> Check:
    return unknown(f"deep-{trial.id}", _group(trial), f"not tried, since the GPU does not open: {trial.doing}")
