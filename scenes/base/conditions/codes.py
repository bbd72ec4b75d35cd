"""Numbers of CUDA's errors: the driver's name for each (cuda.h, ``CUresult``) and the words of the runtime's text.

Only those that a condition of the catalogue stands for; the texts are those of ``cudaGetErrorString``.
"""

from __future__ import annotations

import re
from functools import cache

ERRORS: dict[int, tuple[str, str]] = {
    2: ("OUT_OF_MEMORY", r"\bout of memory\b"),
    34: ("STUB_LIBRARY", r"stub library"),
    35: ("INSUFFICIENT_DRIVER", r"driver version is insufficient"),
    36: ("CALL_REQUIRES_NEWER_DRIVER", r"not supported in the installed CUDA driver"),
    46: ("DEVICE_UNAVAILABLE", r"device(s|\(s\))? (is|are|is/are) busy or unavailable"),
    100: ("NO_DEVICE", r"no CUDA-capable device is detected"),
    101: ("INVALID_DEVICE", r"invalid device ordinal"),
    209: ("NO_BINARY_FOR_GPU", r"no kernel image is available"),
    214: ("ECC_UNCORRECTABLE", r"uncorrectable ECC"),
    220: ("NVLINK_UNCORRECTABLE", r"uncorrectable NVLink"),
    222: ("UNSUPPORTED_PTX_VERSION", r"PTX was compiled with an unsupported toolchain"),
    700: ("ILLEGAL_ADDRESS", r"illegal memory access"),
    701: ("LAUNCH_OUT_OF_RESOURCES", r"too many resources requested"),
    702: ("LAUNCH_TIMEOUT", r"launch timed out"),
    709: ("CONTEXT_IS_DESTROYED", r"context is destroyed"),
    710: ("ASSERT", r"device-side assert"),
    714: ("HARDWARE_STACK_ERROR", r"hardware stack error"),
    715: ("ILLEGAL_INSTRUCTION", r"illegal instruction"),
    716: ("MISALIGNED_ADDRESS", r"misaligned address"),
    717: ("INVALID_ADDRESS_SPACE", r"not supported on global/shared address space"),
    718: ("INVALID_PC", r"invalid program counter"),
    719: ("LAUNCH_FAILED", r"unspecified launch failure"),
    802: ("SYSTEM_NOT_READY", r"system not yet initialized"),
    803: ("SYSTEM_DRIVER_MISMATCH", r"unsupported display driver"),
    804: ("COMPAT_NOT_SUPPORTED_ON_DEVICE", r"forward compatibility was attempted"),
    805: ("MPS_CONNECTION_FAILED", r"failed to connect to the MPS"),
    806: ("MPS_RPC_FAILURE", r"MPS control daemon and the MPS server"),
    807: ("MPS_SERVER_NOT_READY", r"MPS server is not ready"),
    808: ("MPS_MAX_CLIENTS_REACHED", r"hardware resources required to create MPS client"),
    809: ("MPS_MAX_CONNECTIONS_REACHED", r"hardware resources required to (support )?device connections"),
    810: ("MPS_CLIENT_TERMINATED", r"MPS client has been terminated"),
    999: ("UNKNOWN", r"CUDA (error: )?unknown error"),
}


def code_in(text: str) -> int:
    """The number of the CUDA error that a text is about; 0 when it is about none of these."""
    return next((code for code, sign in _signs() if sign.search(text)), 0)


@cache
def _signs() -> tuple[tuple[int, re.Pattern[str]], ...]:
    # What poisons a session (700 and up) comes before what it may have caused.
    codes = sorted(ERRORS, key=lambda code: (not 700 <= code < 800, code))
    return tuple((code, re.compile(rf"CUDA_ERROR_{ERRORS[code][0]}\b|(?i:{ERRORS[code][1]})")) for code in codes)
