"""Stand-ins for NVIDIA's libraries, built with the system's compiler, that answer as variables tell them to."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

# libcuda as far as app/probe.py asks it. Every answer comes from a variable, so that one build serves all tests.
_CUDA = r"""
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static long number(const char *name, long otherwise) { const char *v = getenv(name); return v ? atol(v) : otherwise; }
static const char *text(const char *name, const char *otherwise) {
    const char *v = getenv(name);
    return v ? v : otherwise;
}
static void stumble(const char *where) {
    if (strcmp(text("FAKE_HANGS", ""), where) == 0) sleep(60);
    if (strcmp(text("FAKE_CRASHES", ""), where) == 0) abort();
}
static int hidden(void) {
    const char *v = getenv("CUDA_VISIBLE_DEVICES");
    return v && (!*v || *v == '-' || atol(v) > 8);
}
int cuInit(unsigned flags) {
    stumble("cuInit");
    if (number("FAKE_INIT", 0)) return (int)number("FAKE_INIT", 0);
    return hidden() || number("FAKE_COUNT", 1) == 0 ? 100 : 0;
}
int cuDriverGetVersion(int *v) { *v = (int)number("FAKE_VERSION", 13000); return 0; }
int cuDeviceGetCount(int *n) { stumble("cuDeviceGetCount"); *n = (int)number("FAKE_COUNT", 1); return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *to, int room, int d) { snprintf(to, room, "%s", text("FAKE_NAME", "Made-up GPU")); return 0; }
int cuDeviceGetAttribute(int *to, int which, int d) {
    long capability = number("FAKE_CAPABILITY", 90);
    switch (which) {
        case 75: *to = (int)(capability / 10); return 0;
        case 76: *to = (int)(capability % 10); return 0;
        case 16: *to = 40; return 0;
        case 17: *to = (int)number("FAKE_WATCHDOG", 0); return 0;
        case 20: *to = (int)number("FAKE_MODE", 0); return 0;
    }
    return 1;
}
int cuDeviceTotalMem_v2(size_t *to, int d) { *to = (size_t)24000000000; return 0; }
int cuDeviceGetPCIBusId(char *to, int room, int d) { snprintf(to, room, "0000:%02x:00.0", d + 1); return 0; }
int cuDevicePrimaryCtxRetain(void **to, int d) { stumble("context"); *to = 0; return (int)number("FAKE_CONTEXT", 0); }
int cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
int cuCtxSetCurrent(void *c) { return 0; }
int cuMemGetInfo_v2(size_t *f, size_t *t) {
    *t = (size_t)24000000000;
    *f = (size_t)number("FAKE_FREE", 23000000000);
    return 0;
}
int cuMemAlloc_v2(unsigned long long *to, size_t n) { *to = 4096; return (int)number("FAKE_ALLOC", 0); }
int cuMemFree_v2(unsigned long long p) { return 0; }
"""

_NVML = r"""
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
static long number(const char *name, long otherwise) { const char *v = getenv(name); return v ? atol(v) : otherwise; }
struct memory { unsigned long long total, free, used; };
struct use { unsigned gpu, memory; };
struct process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };
int nvmlInit_v2(void) { return (int)number("FAKE_NVML", 0); }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *to, unsigned room) { snprintf(to, room, "580.159.04"); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **to) { *to = 0; return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **to) { *to = 0; return 0; }
int nvmlDeviceGetMemoryInfo(void *d, struct memory *to) {
    to->total = 24000000000ull; to->free = number("FAKE_FREE", 23000000000); to->used = to->total - to->free; return 0;
}
int nvmlDeviceGetUtilizationRates(void *d, struct use *to) {
    to->gpu = (unsigned)number("FAKE_BUSY", 0);
    to->memory = 0;
    return 0;
}
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *after) {
    *now = *after = (unsigned)number("FAKE_MIG", 0);
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *to) {
    unsigned i, there = (unsigned)number("FAKE_PROCESSES", 0);
    for (i = 0; i < there; i++) { memset(&to[i], 0, sizeof to[i]); to[i].pid = 1000 + i; to[i].used = 2000000000; }
    *n = there; return 0;
}
"""


@dataclass(frozen=True)
class Fakes:
    """Folders that hold fake libraries.

    Attributes:
        driver: A folder with libcuda and libnvidia-ml.
        cuda_only: A folder with libcuda and a libnvidia-ml that does not load.
        nothing: A folder whose libcuda and libnvidia-ml do not load: what a machine with a real driver needs to
            look like one without.
    """

    driver: str
    cuda_only: str
    nothing: str


def build(folder: Path) -> Fakes:
    """Build them, or skip the test that asks for them with the reason."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build a fake libcuda with")
    for name in ("driver", "cuda_only", "nothing"):
        (folder / name).mkdir()
        (folder / name / "libcuda.so.1").write_text("not a library")
        (folder / name / "libnvidia-ml.so.1").write_text("not a library")
    for source, file in ((_CUDA, "libcuda.so.1"), (_NVML, "libnvidia-ml.so.1")):
        (folder / "fake.c").write_text(source)
        target = folder / "driver" / file
        target.unlink()
        command = [compiler, "-shared", "-fPIC", "-w", "-o", str(target), str(folder / "fake.c")]
        subprocess.run(command, check=True, timeout=60)
    shutil.copy(folder / "driver/libcuda.so.1", folder / "cuda_only/libcuda.so.1")
    return Fakes(*(str(folder / name) for name in ("driver", "cuda_only", "nothing")))
