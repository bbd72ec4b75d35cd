"""Where compiled kernels and Python's headers are, and whether a folder can be written. Nothing is left here."""

from __future__ import annotations

import contextlib
import os
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path

CACHE_VARIABLE = "GPU_EXPLAIN_CACHE"


def cache_candidates(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders for our own compiled kernels, the first that can be written is used.

    ``$GPU_EXPLAIN_CACHE``, else the platform's cache folder, else one of our own under the temporary folder.
    """
    named = environ.get(CACHE_VARIABLE)
    found = [Path(named)] if named else []
    with contextlib.suppress(Exception):
        import platformdirs

        found.append(Path(platformdirs.user_cache_dir("gpu-explain", appauthor=False)))
    with contextlib.suppress(OSError):  # there may be no temporary folder at all
        name = f"gpu-explain-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
        found.append(Path(tempfile.gettempdir()) / name)
    return tuple(found)


def triton_cache(environ: Mapping[str, str]) -> tuple[Path, str]:
    """Where Triton keeps compiled kernels, and the variable that says so (empty: the home folder)."""
    if environ.get("TRITON_CACHE_DIR"):
        return Path(environ["TRITON_CACHE_DIR"]), "TRITON_CACHE_DIR"
    home = environ.get("TRITON_HOME")
    return Path(home or environ.get("HOME") or Path.home()) / ".triton" / "cache", "TRITON_HOME" if home else ""


def writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or it can be made with its missing parents."""
    nearest = nearest_folder(folder)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        return False
    if nearest != folder:
        return True
    try:
        # Without a name, so that nothing is seen or left of it.
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def python_include() -> Path:
    """Where Triton looks for Python.h: Debian's scheme for local packages has no headers of its own."""
    scheme = sysconfig.get_default_scheme()
    return Path(sysconfig.get_paths("posix_prefix" if scheme == "posix_local" else scheme)["include"])


def nearest_folder(path: Path) -> Path:
    """The path itself, or the nearest of its parents that is there."""
    for place in (path, *path.parents):
        try:
            place.lstat()
        except OSError:  # not there, or a file is in the way further up
            continue
        return place
    return Path("/")
