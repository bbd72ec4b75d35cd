"""Attention forward written for Hopper: the arithmetic of ``attention.py``, and the order of the work written down.

Tensor cores multiply by themselves once they are told to. What keeps the kernel of ``attention.py`` below them is
waiting: Triton asks for a product and waits for it at once, and a warp that computes exponentials has nothing to
multiply. Gluon is Triton one level down, where layouts, shared memory, barriers and waits are the author's. Two things
change, both from FlashAttention-3 (Shah et al. 2024, arXiv:2407.08608):

1. *A warp that only fetches.* It runs ahead of two warp groups that only compute, ``BLOCK_M`` rows each, as far as
   rings of ``STAGES`` blocks let it. Barriers in shared memory say which block has arrived and which may go.
   The two groups never wait for each other: while one of them computes exponentials, the other one multiplies.
2. *Two products on their way.* The scores of a block of keys are asked for together with p @ v of the block before.
   Only the scores are waited for; their softmax is computed while p @ v is still being multiplied.

Gluon is experimental: this file compiles with Triton 3.6 and 3.7. With heads of 64 the exponentials are as much work as
the products, and the simple kernel, of which three programs share an SM, is at least as fast.
"""

from __future__ import annotations

from typing import Any

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from gpu_explain.kernels.attention import (
    LOG2_E,
    MOST_PROGRAMS,
    check,
    fits_descriptor,
    heads_together,
    place_of,
    strides_of,
)
from gpu_explain.kernels.attention_configs import HOPPER, hopper_configuration

GROUPS = gl.constexpr(2)
"""Warp groups that compute."""
WARPS = gl.constexpr(4)
"""Warps of a warp group."""


@gluon.jit
def make_ring(tensor, SLOTS: gl.constexpr, READERS: gl.constexpr):
    """``SLOTS`` blocks of a tensor in shared memory, and for each a barrier for "arrived" and one for "free"."""
    shape: gl.constexpr = [SLOTS] + tensor.block_shape  # noqa: RUF005  (Gluon knows no star)
    blocks = gl.allocate_shared_memory(tensor.dtype, shape, tensor.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(arrived.index(slot), count=1)
        mbarrier.init(free.index(slot), count=READERS)
    return blocks, arrived, free


@gluon.jit
def fetch(tensor, batch, head, row, ring, step, SLOTS: gl.constexpr):
    """Let the copy engine fetch the block that begins at ``row``, once the block that lay in its slot has been read."""
    blocks, arrived, free = ring
    slot = step % SLOTS
    # A barrier's phase is 0, 1, 0, 1 … with each use of the slot. The first time round nobody has anything to free.
    mbarrier.wait(free.index(slot), (step // SLOTS & 1) ^ 1)
    mbarrier.expect(arrived.index(slot), tensor.block_type.nbytes)
    tma.async_copy_global_to_shared(tensor, [batch, head, row, 0], arrived.index(slot), blocks.index(slot))


@gluon.jit
def wait_for(ring, step, SLOTS: gl.constexpr, wanted=True):
    """Wait until the block of that step has arrived."""
    _, arrived, _ = ring
    mbarrier.wait(arrived.index(step % SLOTS), step // SLOTS & 1, pred=wanted)


@gluon.jit
def rows_of(ring, step, SLOTS: gl.constexpr):
    """The block of that step, ``[rows, head]``, in shared memory."""
    blocks, _, _ = ring
    return blocks.index(step % SLOTS).reshape([blocks.shape[3], blocks.shape[4]])


@gluon.jit
def release(ring, step, SLOTS: gl.constexpr):
    """Say that this group has read the block of that step."""
    _, _, free = ring
    mbarrier.arrive(free.index(step % SLOTS))


@gluon.jit
def produce(q, k, v, rings, batch, head, start_m, steps, STAGES: gl.constexpr):
    """The warp that fetches: queries once, then keys and values in the order in which they are needed."""
    q_ring, k_ring, v_ring = rings
    for group in gl.static_range(GROUPS):
        fetch(q, batch, head, start_m + group * q.block_shape[2], q_ring, group, GROUPS)
    for step in range(steps):
        fetch(k, batch, head, step * k.block_shape[2], k_ring, step, STAGES)
        fetch(v, batch, head, step * v.block_shape[2], v_ring, step, STAGES)


@gluon.jit
def online_softmax(scores, start_n, i, whole, k_len, scale, diagonal, row_max, row_sum, CAUSAL: gl.constexpr):
    """A block of scores as numerators, and what the sums so far must be multiplied by; as in ``attention_kernel``."""
    BLOCK_N: gl.constexpr = scores.shape[1]
    if start_n + BLOCK_N > whole:
        j = start_n + gl.arange(0, BLOCK_N, gl.SliceLayout(0, scores.type.layout))
        seen = (j < k_len)[None, :]
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None] + diagonal)
        scores = gl.where(seen, scores, float("-inf"))
    new_max = gl.maximum(row_max, gl.max(scores, 1) * scale)
    p = gl.exp2(scores * scale - new_max[:, None])
    rescale = gl.exp2(row_max - new_max)
    return p, rescale, new_max, row_sum * rescale + gl.sum(p, 1)


@gluon.jit
def compute(
    group,
    out,
    out_strides,
    rings,
    work,
    CAUSAL: gl.constexpr,
    HEAD: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):
    """A warp group that computes ``BLOCK_M`` rows of the output."""
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, BLOCK_N, 16])
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, HEAD, 16])
    P: gl.constexpr = gl.DotOperandLayout(0, ACC, 2)
    dtype: gl.constexpr = out.dtype.element_ty
    q_ring, k_ring, v_ring = rings
    start_m, steps, whole, q_len, k_len, scale, diagonal = work

    start_m = start_m + group * BLOCK_M
    i = start_m + gl.arange(0, BLOCK_M, gl.SliceLayout(1, SCORES))
    nothing = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, SCORES)
    acc = gl.zeros([BLOCK_M, HEAD], gl.float32, ACC)
    row_sum = gl.zeros([BLOCK_M], gl.float32, gl.SliceLayout(1, SCORES))
    row_max = gl.full([BLOCK_M], -3.4e38, gl.float32, gl.SliceLayout(1, SCORES))

    wait_for(q_ring, group, GROUPS)
    q_rows = rows_of(q_ring, group, GROUPS)
    wait_for(k_ring, 0, STAGES)
    asked = warpgroup_mma(q_rows, rows_of(k_ring, 0, STAGES).permute([1, 0]), nothing, use_acc=False, is_async=True)
    scores = warpgroup_mma_wait(0, deps=[asked])
    release(k_ring, 0, STAGES)
    p, rescale, row_max, row_sum = online_softmax(scores, 0, i, whole, k_len, scale, diagonal, row_max, row_sum, CAUSAL)
    p = gl.convert_layout(p.to(dtype), P)

    wait_for(k_ring, 1, STAGES, steps > 1)
    for step in range(1, steps):
        asked = warpgroup_mma(
            q_rows, rows_of(k_ring, step, STAGES).permute([1, 0]), nothing, use_acc=False, is_async=True
        )
        wait_for(v_ring, step - 1, STAGES)
        acc_soon = warpgroup_mma(p, rows_of(v_ring, step - 1, STAGES), acc, is_async=True)
        scores = warpgroup_mma_wait(1, deps=[asked])  # 1: all but the product asked for last
        release(k_ring, step, STAGES)
        p, rescale, row_max, row_sum = online_softmax(
            scores, step * BLOCK_N, i, whole, k_len, scale, diagonal, row_max, row_sum, CAUSAL
        )
        p = gl.convert_layout(p.to(dtype), P)
        # Between softmax and the next wait, because a wait on a barrier is a branch: the assembler moves the wait for
        # products up as far as the last branch, and in front of the softmax it would undo everything.
        wait_for(k_ring, step + 1, STAGES, step + 1 < steps)
        acc, p, rescale = warpgroup_mma_wait(0, deps=[acc_soon, p, rescale])
        release(v_ring, step - 1, STAGES)
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, ACC))[:, None]

    wait_for(v_ring, steps - 1, STAGES)
    acc_soon = warpgroup_mma(p, rows_of(v_ring, steps - 1, STAGES), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc_soon])
    total = gl.convert_layout(row_sum, gl.SliceLayout(1, ACC))[:, None]
    acc = gl.where(total == 0.0, 0.0, acc / total)
    rows = start_m + gl.arange(0, BLOCK_M, gl.SliceLayout(1, ACC))
    columns = gl.arange(0, HEAD, gl.SliceLayout(0, ACC))
    places = out + rows[:, None].to(gl.int64) * out_strides[2] + columns[None, :] * out_strides[3]
    gl.store(places, acc.to(dtype), mask=(rows < q_len)[:, None])


@gluon.jit(do_not_specialize=["heads", "q_len", "k_len", "diagonal", "together"])
def attention_hopper_kernel(
    q,
    k,
    v,
    out,
    heads,
    q_len,
    k_len,
    scale,
    diagonal,
    together,
    out_strides,
    CAUSAL: gl.constexpr,
    HEAD: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    STAGES: gl.constexpr,
):
    """``GROUPS * BLOCK_M`` rows of the output of one head; arguments as those of ``attention_kernel``.

    q, k and v are tensor descriptors.
    """
    ROWS: gl.constexpr = GROUPS * BLOCK_M
    batch, head, start_m = place_of(gl.program_id(0), gl.num_programs(0), heads, q_len, together, ROWS)
    end = k_len
    whole = k_len // BLOCK_N * BLOCK_N
    if CAUSAL:
        end = gl.minimum(k_len, start_m + ROWS + diagonal)
        whole = gl.minimum(whole, start_m + 1 + diagonal)
    steps = gl.maximum(gl.cdiv(end, BLOCK_N), 1)  # at least one, where a mask hides everything

    q_ring = make_ring(q, GROUPS, 1)
    k_ring = make_ring(k, STAGES, GROUPS)
    v_ring = make_ring(v, STAGES, GROUPS)
    fence_async_shared()
    out += batch.to(gl.int64) * out_strides[0] + head.to(gl.int64) * out_strides[1]
    rings = (q_ring, k_ring, v_ring)  # tuples, because the functions of a partition have many arguments in common
    work = (start_m, steps, whole, q_len, k_len, scale, diagonal)
    gl.warp_specialize(
        [
            (compute, (0, out, out_strides, rings, work, CAUSAL, HEAD, BLOCK_M, BLOCK_N, STAGES)),
            (compute, (1, out, out_strides, rings, work, CAUSAL, HEAD, BLOCK_M, BLOCK_N, STAGES)),
            (produce, (q, k, v, rings, batch, head, start_m, steps, STAGES)),
        ],
        [WARPS, 1],
        # Registers a thread: the warp that fetches needs few and leaves its own to those that hold scores, p and acc.
        [240, 24],
    )


def attention_hopper(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    diagonal: int = 0,
    scale: float | None = None,
    out: Any = None,
) -> Any:
    """The same as :func:`gpu_explain.kernels.attention.attention`, on GPUs of compute capability 9.

    Takes float16 and bfloat16, and q, k and v as the copy engine can fetch them (``fits_descriptor``).

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    out = check(q, k, v, causal, diagonal, scale, out)
    check_hopper(q, k, v)
    batch, heads, q_len, head = q.shape
    k_len = k.shape[2]
    if not out.numel():
        return out
    if not k_len:
        return out.zero_()
    c = hopper_configuration(head)
    programs = batch * heads * triton.cdiv(q_len, GROUPS.value * c.block_m)
    if programs > MOST_PROGRAMS:
        raise ValueError(f"q: at most {MOST_PROGRAMS} blocks of rows expected, got {programs}")
    attention_hopper_kernel[(programs,)](
        *(described(tensor, rows) for tensor, rows in ((q, c.block_m), (k, c.block_n), (v, c.block_n))),
        out,
        heads,
        q_len,
        k_len,
        LOG2_E * (head**-0.5 if scale is None else scale),
        min(max(diagonal, -q_len), k_len),
        heads_together(q, k) if causal else 1,
        out.stride(),
        CAUSAL=causal,
        HEAD=head,
        BLOCK_M=c.block_m,
        BLOCK_N=c.block_n,
        STAGES=c.num_stages,
        num_warps=c.num_warps,
    )
    return out


def check_hopper(q: Any, k: Any, v: Any) -> None:
    """Check what :func:`attention_hopper` wants beyond ``attention``. Raises ``ValueError``."""
    import torch

    if not q.is_cuda or torch.cuda.get_device_capability(q.device)[0] != HOPPER:
        raise ValueError(f"q: a tensor on a GPU of compute capability {HOPPER} expected, got one on {q.device}")
    if q.element_size() != 2:
        raise ValueError(f"q: float16 or bfloat16 expected, got {str(q.dtype).removeprefix('torch.')}")
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.numel() and not fits_descriptor(tensor):
            raise ValueError(
                f"{name}: rows without gaps, and address and strides that are multiples of 16 bytes expected,"
                f" got strides {tensor.stride()} and address {tensor.data_ptr()}"
            )


def described(tensor: Any, rows: int) -> TensorDescriptor:
    """A descriptor that fetches ``rows`` rows of one head at a time, laid out as the tensor cores read them."""
    block = [1, 1, rows, tensor.shape[-1]]
    dtype = gl.float16 if str(tensor.dtype) == "torch.float16" else gl.bfloat16
    layout = gl.NVMMASharedLayout.get_default_for(block, dtype)
    return TensorDescriptor(tensor, list(tensor.shape), strides_of(tensor), block, layout)
