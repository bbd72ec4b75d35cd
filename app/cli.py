"""The command line. Everything that takes time to import is imported where it is needed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpu_explain import __version__
from gpu_explain.app import interrupts
from gpu_explain.app.exits import Exit
from gpu_explain.app.streams import watched
from gpu_explain.scenes.base.plain import visible
from gpu_explain.scenes.base.problem import Problem, ProblemError, problem

if TYPE_CHECKING:
    from gpu_explain.app.live import LiveSource
    from gpu_explain.app.report import Line, Printer
    from gpu_explain.app.source import Source
    from gpu_explain.scenes.base import Scene

_EPILOG = """\
Without options: the walkthrough, live when a GPU is usable, else from the bundled recording.
gpu-explain doctor [--deep] [--json] says what is and is not usable here, and what mends it
(gpu-explain doctor --help names its exit codes).

exit codes of --run-all
  0  every law held, on the GPU or on the recording that --replay asked for
  1  a law failed or a scene broke (with --strict also: a surprise, an unchecked law)
  2  wrong usage, unreadable input, or an output that cannot be written
  3  nothing failed, but no GPU was usable: the bundled recording's claims were checked instead
"""

_DOCTOR_EPILOG = """\
It changes nothing on this machine. Without --deep it takes a second or two.

exit codes
  0  live mode will work
  1  a GPU is here, and something stops us
  2  wrong usage
  3  no GPU here: replay only
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. A fault is one sentence, a traceback only with GPU_EXPLAIN_DEBUG."""
    with watched():
        try:
            return _main(sys.argv[1:] if arguments is None else arguments)
        except ProblemError as error:
            if _debugging():
                raise
            _say(f"gpu-explain: {error.problem.sentence}")
            return Exit.USAGE
        except KeyboardInterrupt:
            if _debugging():
                raise
            _say("gpu-explain: interrupted")
            return Exit.INTERRUPTED
        except BrokenPipeError:
            return Exit.BROKEN_PIPE
        except Exception as error:
            if _debugging():
                raise
            _say(_fault(error))
            return Exit.USAGE if _incomplete(error) else Exit.FAILED


def _main(arguments: Sequence[str]) -> int:
    try:
        try:
            return _run(_parsed(arguments))
        finally:
            interrupts.release()  # for what ended before its imports were all done
    finally:
        sys.stdout.flush()  # here, also after --help, so that a full disk is known while it can be said


def _fault(error: Exception) -> str:
    """What is said of an error that nobody expected: a package that is not there, or a mistake of ours."""
    if _incomplete(error):
        return f"gpu-explain: {problem('incomplete', evidence=str(error)).sentence}"
    return (
        f"gpu-explain met a fault of its own: {type(error).__name__}: {error}. "
        "Set GPU_EXPLAIN_DEBUG=1 and run it again to see where."
    )


def _incomplete(error: Exception) -> bool:
    return isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("gpu_explain")


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """What was asked for. ``doctor`` has options of its own, and they stay out of the way of all others."""
    if arguments and arguments[0] == "doctor":
        return _doctor_parser().parse_args(arguments[1:])
    return _parser().parse_args(arguments)


def _doctor_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpu-explain doctor",
        description="What is and is not usable here, how we know, and the command that mends it.",
        epilog=_DOCTOR_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(doctor=True)
    parser.add_argument("--deep", action="store_true", help="also compile, launch, profile and check kernels")
    parser.add_argument("--json", action="store_true", help="as JSON, without anything that names you or the machine")
    return parser


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpu-explain",
        description="What your GPU really does when your PyTorch line runs: live launches, replayed in slow motion.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(doctor=False)
    parser.add_argument("--version", action="version", version=f"gpu-explain {__version__}")
    parser.add_argument("--list", action="store_true", help="list the scenes: number, id, title")
    parser.add_argument("--scene", action="append", metavar="ID", help="start there (an id or a number)")
    parser.add_argument(
        "--replay",
        nargs="?",
        const=True,
        metavar="PATH",
        help="from a recording: a folder, a zip of one, or one scene's file; the bundled one by default",
    )
    parser.add_argument("--device", type=_count(0), metavar="N", help="the GPU to use, in CUDA's order")
    parser.add_argument("--sms", type=_count(1), metavar="N", help="use only about N SMs (a green context)")
    headless = parser.add_argument_group("headless")
    headless.add_argument("--run-all", action="store_true", help="measure every scene and check every claim")
    headless.add_argument("--strict", action="store_true", help="a surprise and an unchecked law fail too")
    headless.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")
    headless.add_argument(
        "--junit",
        metavar="FILE",
        help="write the report as JUnit XML, a case a measurement and a case a claim (- is standard output)",
    )
    headless.add_argument("--record", metavar="PATH", help="write a recording: a folder, or a .zip")
    return parser


def _count(least: int) -> Callable[[str], int]:
    """A parser of whole numbers for argparse."""

    def parse(text: str) -> int:
        if text.isascii() and text.isdigit() and int(text) >= least:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} up")

    return parse


def _run(given: argparse.Namespace) -> int:
    if given.doctor:
        from gpu_explain.app.doctor.command import doctor

        interrupts.release()
        return doctor(deep=given.deep, json=given.json)
    _check_usage(given)
    if given.list:
        return _list()
    if given.run_all:
        return _run_all(given)
    return _walk(given)


def _list() -> int:
    from gpu_explain.scenes.registry import all_scenes

    scenes = all_scenes()
    interrupts.release()
    width = max((len(scene.id) for scene in scenes), default=0)
    for scene in scenes:
        sys.stdout.write(f"{scene.number:2}  {scene.id:<{width}}  {scene.title}\n")
    return Exit.OK


def _check_usage(given: argparse.Namespace) -> None:
    """What argparse cannot check. Raises :class:`ProblemError`."""
    for name, value in vars(given).items():
        if value == "" or (isinstance(value, list) and "" in value):
            raise _usage(f"--{name} was given an empty text", f"Leave --{name} out, or set the variable it came from")
    if given.list and (others := [name for name, value in vars(given).items() if value and name != "list"]):
        raise _usage(f"--list goes alone, without --{others[0].replace('_', '-')}", "gpu-explain --list")
    if not given.run_all:
        for name in ("strict", "json", "junit", "record"):
            if getattr(given, name):
                raise _usage(f"--{name} belongs to --run-all", f"gpu-explain --run-all --{name} …")
        if given.scene and len(given.scene) > 1:
            raise _usage("The walkthrough starts at one scene", "Give --scene once")
    if given.replay is not None:
        for name in ("device", "sms", "record"):
            if getattr(given, name) is not None:
                raise _usage(f"--{name} needs a GPU, --replay needs none", "Leave one of them out")
    if given.json == "-" and given.junit == "-":
        raise _usage("Both --json and --junit want standard output", "Give one of them a file")


def _usage(what: str, remedy: str) -> ProblemError:
    return ProblemError(problem("usage", what=what, remedy=remedy))


# ---------------------------------------------------------------- where measurements come from


def _choose_source(given: argparse.Namespace, *, retries: int) -> tuple[Source, Problem | None]:
    """The GPU, or a recording; and why it is the bundled recording although nobody asked for one.

    Raises:
        ProblemError: When there is nothing to show.
    """
    from gpu_explain.app.replay import open_recording

    if given.replay is not None:
        return open_recording(None if given.replay is True else given.replay), None
    no_gpu = _why_not_live(given.device)
    if no_gpu is None:
        return _open_gpu(given, retries), None
    if given.device is not None and no_gpu.id == "no-such-gpu":
        raise ProblemError(no_gpu)
    try:
        return open_recording(), no_gpu
    except ProblemError as error:
        missing = error.problem
        raise ProblemError(replace(no_gpu, why=f"{no_gpu.why}; {missing.what[0].lower()}{missing.what[1:]}")) from None


def _why_not_live(device: int | None) -> Problem | None:
    from gpu_explain.app.detect import why_not_live

    return why_not_live(device)


def _open_gpu(given: argparse.Namespace, retries: int) -> LiveSource:
    from gpu_explain.app.live import LiveSource

    return LiveSource(device=given.device, sms=given.sms, retries=retries)


# ---------------------------------------------------------------- headless


def _run_all(given: argparse.Namespace) -> int:
    from gpu_explain.app import live, outputs, replay  # noqa: F401  (those that measure, before Ctrl-C may interrupt)
    from gpu_explain.app.exchange import to_json, to_junit
    from gpu_explain.app.report import Printer, header, scene_lines, summary
    from gpu_explain.app.shelf import Recorder
    from gpu_explain.app.verify import absent, verify
    from gpu_explain.scenes.registry import all_scenes, find_scene

    interrupts.release()
    wanted = {find_scene(name).id for name in given.scene or ()}
    scenes = tuple(scene for scene in all_scenes() if not wanted or scene.id in wanted)
    given_paths = {name: getattr(given, name) for name in ("json", "junit")}
    named = {name: outputs.meant(path) for name, path in given_paths.items() if path is not None}
    # Better known now than after the measuring.
    pipes = outputs.check(named, given.record)
    # A request is not asked again here: a worker that dies while measuring is a finding.
    source, no_gpu = _choose_source(given, retries=0)
    if given.record is not None and no_gpu is not None:
        raise ProblemError(no_gpu)
    recorder = None if given.record is None else Recorder(given.record)
    if wanted:
        _check_shown(source, [scene for scene in scenes if scene.id in absent(source, scenes)], no_gpu)
    _say(_unset_sentence(source))
    printer = Printer(sys.stderr if outputs.STANDARD_OUTPUT in named.values() else sys.stdout, sys.stderr)
    shown = _Shown(printer, needed=not named and recorder is None)
    try:
        run = verify(
            source,
            scenes,
            recorder=recorder,
            no_gpu=no_gpu,
            opened=lambda run: shown.lines(header(run)),
            done=lambda result: shown.lines(scene_lines(result, strict=given.strict)),
            progress=printer.progress,
        )
        shown.lines(summary(run, strict=given.strict))
    finally:
        printer.quiet()
        source.close()
    makers = {"json": to_json, "junit": to_junit}
    unwritten = [
        outputs.write(path, makers[name](run, strict=given.strict), pipes.get(path)) for name, path in named.items()
    ]
    shown.check()
    for fault in filter(None, unwritten):
        _say(f"gpu-explain: {fault.sentence}")
    return Exit.USAGE if any(unwritten) else run.exit(strict=given.strict)


class _Shown:
    """The report for the eye. When it cannot be shown any more, files that were asked for are written all the same."""

    def __init__(self, printer: Printer, *, needed: bool) -> None:
        self._printer, self._needed = printer, needed
        self._fault: Exception | None = None

    def lines(self, lines: Iterator[Line]) -> None:
        """Show lines, unless that failed before. Raises what is wrong with the stream when nothing else is wanted."""
        if self._fault is None:
            try:
                self._printer.lines(lines)
            except (ProblemError, BrokenPipeError) as error:
                self._fault = error
                if self._needed:
                    raise

    def check(self) -> None:
        """Raise what was wrong with the stream."""
        if self._fault is not None:
            raise self._fault


def _check_shown(source: Source, scenes: Sequence[Scene], no_gpu: Problem | None) -> None:
    """Refuse to go on without scenes that were named. Raises :class:`ProblemError` for the first."""
    for scene in scenes:
        why = source.can_show(scene)
        if why:
            unfit = problem("cannot-show", scene=scene.id, why=why[0].upper() + why[1:])
            raise ProblemError(replace(unfit, remedy=no_gpu.sentence) if no_gpu else unfit)


def _unset_sentence(source: Source) -> str:
    from gpu_explain.app.environment import unset_sentence
    from gpu_explain.app.live import LiveSource

    return unset_sentence(source.unset) if isinstance(source, LiveSource) else ""


# ---------------------------------------------------------------- the walkthrough


def _walk(given: argparse.Namespace) -> int:
    from gpu_explain.app.terminal import why_not_here
    from gpu_explain.scenes.registry import find_scene

    scene = find_scene(given.scene[0]).id if given.scene else None
    unfit = why_not_here(os.environ, sys.stdin, sys.stdout, sys.stderr)
    if unfit is not None:
        raise ProblemError(unfit)
    from gpu_explain.app import live, replay  # noqa: F401  (as above)

    interrupts.release()
    source, notice = _choose_source(given, retries=1)
    unset = _unset_sentence(source)
    if notice is None and unset:
        notice = problem("environment", evidence=unset)
    try:
        interrupts.hold()
        from gpu_explain.app.walkthrough import run

        interrupts.release()
        return run(source, scene=scene, notice=notice)
    finally:
        source.close()


# ---------------------------------------------------------------- saying things


def _say(text: str) -> None:
    """One line on standard error; nothing for an empty text."""
    if text:
        sys.stderr.write(visible(text).replace("\n", " ") + "\n")
        sys.stderr.flush()


def _debugging() -> bool:
    return bool(os.environ.get("GPU_EXPLAIN_DEBUG"))
