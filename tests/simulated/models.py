"""Made-up GPUs: sizes that no code may take for granted."""

from __future__ import annotations

from gpu_explain.scenes.base import Device


def _device(
    name: str, sms: int, *, threads: int = 2048, step_ns: int = 32, granularity: int = 8, mig: str = ""
) -> Device:
    return Device(
        name=name,
        compute_capability=(9, 0),
        sms=sms,
        sms_total=sms,
        sm_granularity=granularity,
        warp_size=32,
        threads_per_sm=threads,
        blocks_per_sm=32 if threads == 2048 else 16,
        warps_per_sm=threads // 32,
        threads_per_block=1024,
        registers_per_sm=65536,
        shared_per_sm=233472,
        shared_per_block=232448,
        l2_bytes=62914560,
        memory_bytes=150_000_000_000,
        clock_max_mhz=1980,
        driver="999.0",
        driver_cuda=(13, 0),
        timer_step_ns=step_ns,
        mig=mig,
    )


MODELS: dict[str, Device] = {
    "sms40": _device("Made-up GPU, 40 SMs", 40, step_ns=1000, granularity=2),
    "slice24": _device("Made-up GPU, a slice", 24, granularity=0, mig="1g.24gb"),
    "sms160": _device("Made-up GPU, 160 SMs", 160, threads=1536),
    "sms132": _device("Made-up GPU, 132 SMs", 132),
}
"""By the name that ``--model`` takes."""
