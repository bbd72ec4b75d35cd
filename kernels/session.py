"""The open GPU: what a scene's ``measure`` is handed. torch, triton and cuda are imported when it is opened."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpu_explain.kernels.capture import Captured, captured_output
from gpu_explain.kernels.device import Neighbours
from gpu_explain.scenes.base import Device, Neighbour, ProblemError
from gpu_explain.scenes.base.conditions import problem

if TYPE_CHECKING:
    from gpu_explain.kernels.timing import Timer

SHARE_OF_MEMORY = 0.25
"""The most of the memory that was free which a scene may hold."""


class Cancelled(Exception):
    """The request being worked on is no longer wanted."""


def _tell_nobody(doing: str, share: float | None) -> None:
    return None


@dataclass
class SharedState:
    """What a session and those narrowed from it have in common."""

    ordinal: int
    neighbours: Neighbours
    versions: Mapping[str, str] = field(default_factory=dict)
    tell: Callable[[str, float | None], None] = _tell_nobody
    loaded: dict[Any, Any] = field(default_factory=dict)
    narrow: dict[int, Session] = field(default_factory=dict)
    compile_seconds: float = 0.0
    profiled: bool = False
    last_use: float = 0.0


class Session:
    """One GPU (or a green context of it), one stream; CUDA and Triton launches both go there.

    Attributes:
        device: The facts; ``device.sms`` is what launches of this session can use.
        stream: The torch stream, current on the thread that opened the session.
        core_stream: The same stream for ``cuda.core``.
    """

    def __init__(self, shared: SharedState, device: Device, stream: Any, core_stream: Any, context: Any = None) -> None:
        """Use :func:`gpu_explain.kernels.opening.open_session`."""
        self.device = device
        self.stream = stream
        self.core_stream = core_stream
        self._context = context
        self._shared = shared
        self._scratch: dict[str, Any] = {}
        self._timer: Timer | None = None

    @property
    def ordinal(self) -> int:
        """The GPU's number as CUDA counts (after CUDA_VISIBLE_DEVICES)."""
        return self._shared.ordinal

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of what runs."""
        return self._shared.versions

    @property
    def loaded(self) -> dict[Any, Any]:
        """The CUDA modules and kernels loaded so far (see ``loader.py``)."""
        return self._shared.loaded

    @property
    def timer(self) -> Timer:
        """The timer of this session's stream."""
        if self._timer is None:
            from gpu_explain.kernels.timing import Timer

            self._timer = Timer(self)
        return self._timer

    # -- progress ------------------------------------------------------------------------------------------------

    def progress(self, doing: str, share: float | None = None) -> None:
        """Say what is being done (and how much of it, 0 … 1). Raises :class:`Cancelled` when no longer wanted."""
        self._shared.tell(doing, share)

    def listen(self, tell: Callable[[str, float | None], None] | None) -> None:
        """Hand progress to ``tell`` from now on (which may raise :class:`Cancelled`); ``None`` ends it."""
        self._shared.tell = tell or _tell_nobody

    @property
    def compile_seconds(self) -> float:
        """Seconds spent compiling and loading kernels since the session was opened."""
        return self._shared.compile_seconds

    def spent_compiling(self, seconds: float) -> None:
        """Count time towards compiling."""
        self._shared.compile_seconds += seconds

    @property
    def profiled(self) -> bool:
        """Whether CUPTI was attached in this process, which may slow every later launch."""
        return self._shared.profiled

    def mark_profiled(self) -> None:
        """Note that CUPTI was attached."""
        self._shared.profiled = True

    def neighbours(self) -> tuple[Neighbour, ...]:
        """Other work on the GPU now."""
        return self._shared.neighbours.now(idle=time.monotonic() - self._shared.last_use > 2.0)

    def neighbours_at_start(self) -> tuple[Neighbour, ...]:
        """Other work seen when the session was opened."""
        return self._shared.neighbours.at_start()

    # -- memory --------------------------------------------------------------------------------------------------

    def reserve(self, bytes: int, what: str = "this scene") -> None:
        """Ask for memory before taking it.

        Raises :class:`ProblemError` ``gpu-memory`` when that, with what is held already, would be more than a quarter
        of what is free.
        """
        import torch

        free, _ = torch.cuda.mem_get_info(self.ordinal)
        held, cached = torch.cuda.memory_allocated(self.ordinal), torch.cuda.memory_reserved(self.ordinal)
        allowed = int((free + cached) * SHARE_OF_MEMORY)
        if held + bytes > allowed:
            raise ProblemError(
                problem(
                    "gpu-memory",
                    doing=what,
                    evidence=f"It needs {_size(held + bytes)}, and a scene takes at most a quarter of what is free"
                    f" ({_size(free + cached)} now)",
                    mig=bool(self.device.mig),
                )
            )

    def empty(self, shape: tuple[int, ...], dtype: Any, what: str = "this scene") -> Any:
        """A tensor on the GPU, its memory asked for first; contents undefined."""
        import math

        import torch

        self.reserve(math.prod(shape) * torch.empty((), dtype=dtype).element_size(), what)
        return torch.empty(shape, dtype=dtype, device=f"cuda:{self.ordinal}")

    def scratch(self, name: str, bytes: int) -> Any:
        """A byte buffer that lives until the end of the scene (``release``); contents undefined."""
        import torch

        kept = self._scratch.get(name)
        if kept is None or kept.numel() < bytes:
            self._scratch.pop(name, None)
            kept = self._scratch[name] = self.empty((bytes,), torch.uint8, name)
        return kept

    def release(self) -> None:
        """End of a scene: give back what it held, the allocator's cache included."""
        import torch

        for session in (self, *self._shared.narrow.values()):
            session._scratch.clear()
        gc.collect()
        torch.cuda.empty_cache()
        self._shared.last_use = time.monotonic()

    # -- running -------------------------------------------------------------------------------------------------

    def synchronise(self) -> None:
        """Wait until everything queued on the stream is done."""
        self.core_stream.sync()
        self._shared.last_use = time.monotonic()

    @contextmanager
    def captured(self) -> Iterator[Captured]:
        """Catch what launches inside the block print; read ``.text`` after it."""
        with captured_output(self.synchronise) as caught:
            yield caught

    @contextmanager
    def on_sms(self, sms: int) -> Iterator[Session]:
        """A session narrowed to a green context of about ``sms`` SMs; its ``device.sms`` is the real number.

        The number is rounded up to the granularity at which the driver splits (down where there are not so many). All
        SMs of this session are the session itself. Raises :class:`ProblemError` ``green-context`` when the driver or
        ``cuda.core`` cannot.
        """
        import torch

        if sms == self.device.sms:
            yield self
            return
        if not 1 <= sms <= self.device.sms:
            raise ProblemError(
                problem(
                    "green-context",
                    sms=str(sms),
                    evidence=f"A green context takes between 1 and {self.device.sms} SMs here",
                )
            )
        narrow = self._shared.narrow.get(sms)
        if narrow is None:
            narrow = self._shared.narrow[sms] = _narrowed(self._shared, self.device, sms)
        with torch.cuda.stream(narrow.stream):
            yield narrow

    def close(self) -> None:
        """Release the GPU as far as a process can: streams, green contexts, cached memory."""
        with suppress(Exception):
            self.release()
        for session in self._shared.narrow.values():
            with suppress(Exception):
                session._timer = None
                session.core_stream.close()
                session._context.close()
        self._shared.narrow.clear()


def _size(bytes: int) -> str:
    return f"{bytes / 1e9:.1f} GB" if bytes >= 1e8 else f"{bytes / 1e6:.1f} MB"


def split_sms(ordinal: int, sms: int) -> Any:
    """An SM resource of at least ``sms`` SMs, as the driver rounds."""
    from cuda.core import Device as CoreDevice
    from cuda.core import SMResourceOptions

    groups, _ = CoreDevice(ordinal).resources.sm.split(SMResourceOptions(count=sms))
    return groups[0]


def _narrowed(shared: SharedState, device: Device, sms: int) -> Session:
    import torch

    try:
        from cuda.core import ContextOptions
        from cuda.core import Device as CoreDevice

        step = device.sm_granularity or 1
        rounded = min(-(-sms // step), device.sms_total // step) * step
        resource = split_sms(shared.ordinal, rounded)
        context = CoreDevice(shared.ordinal).create_context(ContextOptions(resources=[resource]))
        core_stream = context.create_stream()
        stream = torch.cuda.ExternalStream(int(core_stream.handle), device=f"cuda:{shared.ordinal}")
    except Exception as error:
        raise ProblemError(
            problem(
                "green-context",
                sms=str(sms),
                evidence="Green contexts need a driver for CUDA 12.4 or newer and no MIG slice",
                detail=f"{type(error).__name__}: {error}",
            )
        ) from error
    return Session(shared, replace(device, sms=int(resource.sm_count)), stream, core_stream, context)
