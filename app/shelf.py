"""Where recordings lie: a folder, a zip of one, a single file, or the bundled ones. Reading and writing files."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import IO

from gpu_explain.app.paths import because, open_file, place
from gpu_explain.app.recording import MOST_BYTES, SceneRecording, pack, refuse, unpack
from gpu_explain.scenes.base import Measurement, Problem, ProblemError
from gpu_explain.scenes.base.problem import problem

SUFFIX = ".json.gz"
_MOST_FILES = 1000
_MOST_ZIP = 1 << 30


class Shelf:
    """The scenes of one recording, read when asked for.

    Attributes:
        name: What to call it in a sentence: the path as given, or ``the bundled recording of …``.
    """

    def __init__(self, name: str, openers: Mapping[str, Callable[[], IO[bytes]]]) -> None:
        """``openers`` opens the file of each scene, by scene id."""
        self.name = name
        self._openers = dict(openers)

    @property
    def scenes(self) -> tuple[str, ...]:
        """Ids of the scenes that there is a file for, in alphabetical order."""
        return tuple(sorted(self._openers))

    def read(self, scene: str) -> SceneRecording:
        """The recording of one scene.

        Raises:
            KeyError: When there is no file for it.
            ProblemError: When the file is not a sound recording of that scene.
        """
        where = f"{self.name}: {scene}{SUFFIX}"
        opener = self._openers[scene]
        try:
            with opener() as file:
                data = file.read(MOST_BYTES + 1)
        except Exception as error:
            refuse(where, _unread(error))
        if len(data) > MOST_BYTES:
            refuse(where, f"It is larger than {MOST_BYTES >> 20} MB, which no recording is")
        found = unpack(data, where)
        if found.scene != scene:
            refuse(where, f"It is the recording of another scene ({found.scene})")
        return found


def open_shelf(path: str) -> Shelf:
    """The recording at a path: a folder, a zip of one, or the file of one scene.

    Raises:
        ProblemError: When there is none.
    """
    where = place(path)
    try:
        if not where.exists():
            raise ProblemError(problem("recording-not-there", where=path))
        if where.is_dir():
            return Shelf(path, _in_folder(where, path))
    except OSError as error:
        refuse(path, _unread(error))
    if where.name.endswith(SUFFIX):
        return Shelf(str(where.parent), {where.name.removesuffix(SUFFIX): lambda: open_file(where, MOST_BYTES)})
    return Shelf(path, _in_zip(where, path))


def bundled() -> Shelf | None:
    """The best of the bundled recordings: the one with the most scenes; ``None`` when there is none."""
    root = files("gpu_explain.scenes") / "recordings"
    if not root.is_dir():
        return None
    found = [
        Shelf(f"the bundled recording {folder.name}", openers)
        for folder in sorted(root.iterdir(), key=lambda entry: entry.name)
        if folder.is_dir() and (openers := _openers(folder))
    ]
    return max(found, key=lambda shelf: len(shelf.scenes), default=None)


class Recorder:
    """Writes a recording scene by scene, so that a crash keeps what was done.

    A path that ends in ``.zip`` becomes a zip, every other one a folder.
    """

    def __init__(self, path: str) -> None:
        """Make sure before anything is measured that it can be written there.

        Raises:
            ProblemError: When the place is taken by something else or cannot be written to.
        """
        self.path = place(path)
        self._zip = self.path.suffix.lower() == ".zip"
        self._device = ""
        try:
            if self._zip:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                if self.path.exists():
                    self._resume(Shelf(path, _in_zip(self.path, path)))
            else:
                self.path.mkdir(parents=True, exist_ok=True)
                self._resume(Shelf(path, _openers(self.path)))
            _probe(self.path.parent if self._zip else self.path)
        except FileExistsError:
            raise ProblemError(_unrecorded(path, "It is neither a folder nor a zip")) from None
        except OSError as error:
            raise ProblemError(_unrecorded(path, because(error))) from None
        except ProblemError as error:  # what is there was not written by us, or is damaged
            raise ProblemError(_unrecorded(path, error.problem.why, error.problem.detail)) from None

    def write(self, measurements: tuple[Measurement, ...]) -> None:
        """Write (or replace) the recording of one scene; what was there stays until the new one is complete.

        Raises:
            ProblemError: When the recording holds another GPU's scenes, or writing fails.
        """
        scene, device = measurements[0].scene, measurements[0].device.name
        data = pack(measurements)
        try:
            with _alone(self.path.parent if self._zip else self.path):
                # Another gpu-explain may be recording here too: what it added since we looked must stay, and count.
                try:
                    packed = _packed(self.path) if self._zip else {}
                    self._device = self._device or self._found_device(packed)
                except ProblemError as error:
                    why, detail = error.problem.why, error.problem.detail
                    raise ProblemError(_unrecorded(str(self.path), why, detail)) from None
                if self._device and device != self._device:
                    there = self._device
                    raise ProblemError(
                        problem("other-gpu", scene=scene, where=str(self.path), there=there, here=device)
                    )
                self._device = device
                if self._zip:
                    packed[scene] = data
                    _replace(self.path, lambda file: _write_zip(file, packed))
                else:
                    _replace(self.path / f"{scene}{SUFFIX}", lambda file: file.write(data))
        except OSError as error:
            why = f"{scene} was not recorded: {because(error)}"
            raise ProblemError(problem("cannot-write", where=str(self.path), evidence=why)) from None

    def _found_device(self, packed: Mapping[str, bytes]) -> str:
        """Name of the GPU whose scenes are there by now; empty when there are none."""
        if self._zip:
            return next((unpack(data, str(self.path)).device.name for data in packed.values()), "")
        shelf = Shelf(str(self.path), _openers(self.path))
        return next((shelf.read(scene).device.name for scene in shelf.scenes), "")

    def _resume(self, shelf: Shelf) -> None:
        """Go on with a recording that is there already; its scenes stay unless they are recorded again."""
        for scene in shelf.scenes:
            found = shelf.read(scene)
            self._device = self._device or found.device.name


def _unrecorded(path: str, why: str, detail: str = "") -> Problem:
    """That a recording cannot be made at a place, said of recording: nobody wanted to replay what lies there."""
    met = problem("cannot-write", where=path, evidence=why, detail=detail)
    remedy = "Name another place: a folder, or a file that ends in .zip"
    return replace(met, what=f"Nothing can be recorded at {path}", remedy=remedy)


def _in_folder(folder: Path, path: str) -> dict[str, Callable[[], IO[bytes]]]:
    try:
        found = _openers(folder)
    except OSError as error:
        refuse(path, _unread(error))
    if not found:
        refuse(path, f"There is no recording in it (no {SUFFIX} file)")
    return found


def _openers(folder: Traversable) -> dict[str, Callable[[], IO[bytes]]]:
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return {
        entry.name.removesuffix(SUFFIX): lambda entry=entry: _open_entry(entry)  # type: ignore[misc]
        for entry in entries
        if entry.name.endswith(SUFFIX) and not entry.name.startswith(".")
    }


def _in_zip(where: Path, path: str) -> dict[str, Callable[[], IO[bytes]]]:
    """Openers for the members of a zip; folders inside it do not matter, only names do."""
    try:
        with open_file(where, _MOST_ZIP) as file, zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.endswith(SUFFIX)]
    except Exception as error:
        refuse(path, "It is neither a folder nor a zip" if isinstance(error, zipfile.BadZipFile) else _unread(error))
    found: dict[str, Callable[[], IO[bytes]]] = {}
    for name in names[: _MOST_FILES + 1]:
        scene = name.rsplit("/", 1)[-1].removesuffix(SUFFIX)
        if scene in found:
            refuse(path, f"It holds {scene}{SUFFIX} twice")
        found[scene] = lambda name=name: _open_member(where, name)  # type: ignore[misc]
    if len(found) > _MOST_FILES:
        refuse(path, f"It holds more than {_MOST_FILES} files")
    if not found:
        refuse(path, f"There is no recording in it (no {SUFFIX} file)")
    return found


def _open_entry(entry: Traversable) -> IO[bytes]:
    # What is bundled may lie inside an archive that Python was started from.
    return open_file(entry, MOST_BYTES) if isinstance(entry, Path) else entry.open("rb")


def _open_member(where: Path, name: str) -> IO[bytes]:
    return zipfile.ZipFile(where).open(name)


def _unread(error: Exception) -> str:
    """Why something cannot be read, as a sentence."""
    if isinstance(error, OSError):
        return f"It cannot be read: {because(error)[0].lower()}{because(error)[1:]}"
    return str(error) if isinstance(error, ValueError) else f"It cannot be read ({type(error).__name__}: {error})"


def _packed(where: Path) -> dict[str, bytes]:
    """The files in a zip as they are, by scene; empty when there is no zip yet."""
    if not where.exists():
        return {}
    found: dict[str, bytes] = {}
    for scene, opener in _in_zip(where, str(where)).items():
        with opener() as file:
            found[scene] = file.read(MOST_BYTES)
    return found


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other gpu-explain is inside for the same folder. Where there are no such locks, go on without."""
    descriptor = -1
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _write_zip(file: IO[bytes], packed: Mapping[str, bytes]) -> None:
    """Members are stored as they are (they are gzipped) and undated, so that equal content is equal bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for scene, data in sorted(packed.items()):
            archive.writestr(zipfile.ZipInfo(f"{scene}{SUFFIX}", (1980, 1, 1, 0, 0, 0)), data)


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that at every moment either the old or the whole new one is there."""
    passing = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with passing.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        passing.replace(path)
    finally:
        with contextlib.suppress(OSError):
            passing.unlink(missing_ok=True)


def _probe(folder: Path) -> None:
    """Raise ``OSError`` when no file can be made in the folder."""
    probe = folder / f".gpu-explain.{os.getpid()}"
    probe.touch()
    probe.unlink()
