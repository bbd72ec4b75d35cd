"""What the app and the worker say to each other: one JSON message per line, on descriptors of their own.

The app writes :data:`Request` lines, the worker writes :data:`Reply` lines. The worker's standard output is
left to device ``printf`` and captured; its standard error is kept for the report of a crash. The module
lives beside the data types since both sides need it and neither may import the other.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gpu_explain.scenes.base.measurement import Device, Measurement, Neighbour
from gpu_explain.scenes.base.problem import Problem


class Measure(msgspec.Struct, frozen=True, tag="measure"):
    """Measure a scene. A newer request of this kind cancels the one in progress.

    ``again`` measures parts anew even when the worker still holds them. ``chosen`` may leave out
    parameters, which then take their defaults.
    """

    id: int
    scene: str
    chosen: Mapping[str, str]
    again: bool = False


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Stop working on a request; answered by :class:`Failed` with problem id ``cancelled``."""

    id: int


class Quit(msgspec.Struct, frozen=True, tag="quit"):
    """Release the GPU and end."""


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The first reply: the GPU is open. A worker that cannot open it sends :class:`Failed` with id 0 and ends."""

    device: Device
    versions: Mapping[str, str]
    neighbours: tuple[Neighbour, ...]


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """What is being done; ``share`` is how much of it, 0 … 1, when known."""

    id: int
    doing: str
    share: float | None = None


class Measured(msgspec.Struct, frozen=True, tag="measured"):
    """A measurement, sent after each part with ``complete`` false and at the end with ``complete`` true."""

    id: int
    measurement: Measurement


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A request that came to nothing. After a sticky problem the worker ends by itself."""

    id: int
    problem: Problem


Request = Measure | Cancel | Quit
Reply = Ready | Progress | Measured | Failed

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_replies: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def encode(message: Request | Reply) -> bytes:
    """One message as one line, its newline included."""
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """A request from its line. Raises ``msgspec.DecodeError``."""
    return _requests.decode(line)


def decode_reply(line: bytes) -> Reply:
    """A reply from its line. Raises ``msgspec.DecodeError``."""
    return _replies.decode(line)
