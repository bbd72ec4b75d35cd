"""Attention forward as one Triton kernel: softmax(q kᵀ · scale) v, and the N × N matrix of scores is never written.

Unfused (:func:`reference`), every score goes to memory and comes back several times: the matrix is N × N, and for long
sequences it is nearly all of the traffic and of the memory. Here a program keeps one block of queries and walks over
the keys and values, block by block; scores live in registers only. Softmax needs the largest score and the sum of a
whole row, which nobody knows half way through, so both are kept as *running* values (online softmax). When a block of
keys brings a larger maximum, what was summed so far is too large by a known factor, and one multiplication mends it:

    new     = max(row_max, max(scores))
    rescale = exp(row_max - new)
    row_sum = row_sum · rescale + sum(exp(scores - new))
    acc     = acc · rescale + exp(scores - new) @ v

and at the end the output is acc / row_sum. Milakov and Gimelshein 2018 (arXiv:1805.02867) for the running softmax,
Dao et al. 2022 and 2023 (arXiv:2205.14135, arXiv:2307.08691) for attention by blocks.

What makes it fast: exp2 instead of exp, with log2(e) folded into the scale; masks only in the blocks that need them; on
Hopper and newer the copy engine fetches the blocks (tensor descriptors), which costs no registers for addresses; with a
causal mask the longest rows start first, so that the last programs to run are short ones.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from gpu_explain.kernels.arguments import check_flag, check_launchable, check_number, check_tensor, check_written
from gpu_explain.kernels.attention_configs import HEADS, configuration, copy_engine_helps

LOG2_E = 1.4426950408889634
MOST_PROGRAMS = 2**31 - 1
_LONGEST = 2**30
_LARGEST_SCALE = 1e38
"""Times log2(e), a float32 still holds it."""
_ALIGNMENT = 16
"""Bytes of which a tensor descriptor wants addresses and strides to be multiples."""


@triton.jit
def load_rows(source, strides, batch, head, start, length, BLOCK: tl.constexpr, HEAD: tl.constexpr):
    """Rows ``start`` … ``start + BLOCK`` of one head as ``[BLOCK, HEAD]``; zeros from row ``length`` on."""
    if isinstance(source, tl.tensor_descriptor):
        rows = source.load([batch, head, start, 0]).reshape(BLOCK, HEAD)
    else:
        # 64 bits: a tensor may have more than 2^31 elements.
        at = start + tl.arange(0, BLOCK)
        first = source + batch.to(tl.int64) * strides[0] + head.to(tl.int64) * strides[1]
        places = first + at[:, None].to(tl.int64) * strides[2] + tl.arange(0, HEAD)[None, :] * strides[3]
        rows = tl.load(places, mask=(at < length)[:, None], other=0.0)
    return rows


@triton.jit
def place_of(program, programs, heads, q_len, together, BLOCK_M: tl.constexpr):
    """Batch, head and first row of a program: the last blocks of ``together`` heads, then the blocks before, and so on.

    With a causal mask the last rows see most keys, and the longest programs should start first, of all heads alike.
    But programs that run at the same time share keys and values in the L2, so not of more heads than fit there.
    """
    blocks = tl.cdiv(q_len, BLOCK_M)
    bundle = program // (blocks * together)
    in_bundle = tl.minimum(together, programs // blocks - bundle * together)
    rank = program - bundle * blocks * together
    both = bundle * together + rank % in_bundle
    return both // heads, both % heads, (blocks - 1 - rank // in_bundle) * BLOCK_M


@triton.jit(do_not_specialize=["heads", "q_len", "k_len", "diagonal", "together"])
def attention_kernel(
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
    q_strides,
    k_strides,
    v_strides,
    out_strides,
    CAUSAL: tl.constexpr,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """``BLOCK_M`` rows of the output of one head, one program each; tensors are ``[batch, heads, length, HEAD]``.

    q, k and v are pointers or tensor descriptors; ``scale`` has log2(e) in it. With ``CAUSAL``, row i sees the keys
    j <= i + ``diagonal``. ``together`` is explained at :func:`place_of`.
    """
    batch, head, start_m = place_of(tl.program_id(0), tl.num_programs(0), heads, q_len, together, BLOCK_M)
    i = start_m + tl.arange(0, BLOCK_M)

    # Keys [0, whole) are seen by all rows of this block, keys from ``end`` on by none; between them the mask decides.
    end = k_len
    whole = k_len // BLOCK_N * BLOCK_N
    if CAUSAL:
        end = tl.minimum(k_len, start_m + BLOCK_M + diagonal)
        whole = tl.minimum(whole, start_m + 1 + diagonal)

    q_rows = load_rows(q, q_strides, batch, head, start_m, q_len, BLOCK_M, HEAD)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    row_sum = tl.zeros([BLOCK_M], tl.float32)
    # Lowest finite and not -inf: exp2(-inf - row_max) is then 0, and not NaN, in rows that have seen no key yet.
    row_max = tl.full([BLOCK_M], -3.4e38, tl.float32)
    for start_n in tl.range(0, end, BLOCK_N):
        k_rows = load_rows(k, k_strides, batch, head, start_n, k_len, BLOCK_N, HEAD)
        scores = tl.dot(q_rows, k_rows.T, input_precision="tf32x3")
        if start_n + BLOCK_N > whole:
            j = start_n + tl.arange(0, BLOCK_N)
            seen = (j < k_len)[None, :]
            if CAUSAL:
                seen = seen & (j[None, :] <= i[:, None] + diagonal)
            scores = tl.where(seen, scores, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1) * scale)
        p = tl.exp2(scores * scale - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(p, 1)
        row_max = new_max
        v_rows = load_rows(v, v_strides, batch, head, start_n, k_len, BLOCK_N, HEAD)
        acc = tl.dot(p.to(v_rows.dtype), v_rows, acc * rescale[:, None], input_precision="tf32x3")

    # A row that saw no key has the sum 0; its output is 0, as torch's is.
    acc = tl.where(row_sum[:, None] == 0.0, 0.0, acc / row_sum[:, None])
    first = out + batch.to(tl.int64) * out_strides[0] + head.to(tl.int64) * out_strides[1]
    places = first + i[:, None].to(tl.int64) * out_strides[2] + tl.arange(0, HEAD)[None, :] * out_strides[3]
    tl.store(places, acc.to(out.dtype.element_ty), mask=(i < q_len)[:, None])


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    diagonal: int = 0,
    scale: float | None = None,
    out: Any = None,
) -> Any:
    """softmax(q kᵀ · scale) v in one launch on the current stream; returns ``out``, or a new tensor.

    A row that sees no key gives 0, as in torch, and so does one whose every score is -inf. Other infinities and NaN
    give what torch's softmax gives; a NaN in a value that a row does not see may still reach it (0 · NaN), as in torch.
    Scores · scale must stay below 2.3e38: they are multiplied by log2(e), and beyond that float32 ends.

    Args:
        q: ``[batch, heads, q_len, head]`` in float16, bfloat16 or float32, head 64 or 128, any strides.
        k: ``[batch, heads, k_len, head]``, dtype and device of q, any strides.
        v: Like k.
        causal: Whether row i sees only the keys j <= i + ``diagonal``.
        diagonal: As in ``torch.tril``: 0 is torch's ``is_causal``, k_len - q_len shows the last row all keys.
        scale: Factor of the scores, positive; 1 / sqrt(head) when ``None``.
        out: Where the result goes, ``[batch, heads, q_len, head]``; must not overlap q, k or v.

    Raises:
        ValueError: Naming the argument and what was expected.
    """
    import torch

    out = check(q, k, v, causal, diagonal, scale, out)
    batch, heads, q_len, head = q.shape
    k_len = k.shape[2]
    if not out.numel():
        return out
    if not k_len:
        return out.zero_()
    capability = torch.cuda.get_device_capability(q.device) if q.is_cuda else (9, 0)  # on the CPU: the interpreter
    descriptors = copy_engine_helps(capability, q.element_size()) and all(map(fits_descriptor, (q, k, v)))
    c = configuration(capability, q.element_size(), head, descriptors=descriptors)
    programs = batch * heads * triton.cdiv(q_len, c.block_m)
    if programs > MOST_PROGRAMS:
        raise ValueError(f"q: at most {MOST_PROGRAMS} blocks of {c.block_m} rows expected, got {programs}")
    attention_kernel[(programs,)](
        *((described(t, n) for t, n in ((q, c.block_m), (k, c.block_n), (v, c.block_n))) if descriptors else (q, k, v)),
        out,
        heads,
        q_len,
        k_len,
        LOG2_E * (head**-0.5 if scale is None else scale),
        min(max(diagonal, -q_len), k_len),
        heads_together(q, k) if causal else 1,
        *(tensor.stride() for tensor in (q, k, v, out)),
        CAUSAL=causal,
        HEAD=head,
        BLOCK_M=c.block_m,
        BLOCK_N=c.block_n,
        num_warps=c.num_warps,
        num_stages=c.num_stages,
    )
    return out


def heads_together(q: Any, k: Any) -> int:
    """Heads in a bundle (:func:`place_of`): equal bundles, of which keys and values fill at most half of the L2."""
    import torch

    every = q.shape[0] * q.shape[1]
    if not q.is_cuda:
        return every
    half = torch.cuda.get_device_properties(q.device).L2_cache_size // 2
    fit = max(1, half // (2 * k.shape[2] * k.shape[3] * k.element_size()))
    return triton.cdiv(every, triton.cdiv(every, fit))


def fits_descriptor(tensor: Any) -> bool:
    """Whether the copy engine can fetch blocks of this tensor: rows without gaps, everything else a multiple of 16."""
    size = tensor.element_size()
    steps = [stride for length, stride in zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True) if length > 1]
    return (
        tensor.stride(-1) == 1
        and tensor.data_ptr() % _ALIGNMENT == 0
        and all(stride > 0 and stride * size % _ALIGNMENT == 0 for stride in steps)
    )


def described(tensor: Any, block: int) -> TensorDescriptor:
    """A descriptor that fetches ``block`` rows of one head at a time."""
    return TensorDescriptor(tensor, list(tensor.shape), strides_of(tensor), [1, 1, block, tensor.shape[-1]])


def strides_of(tensor: Any) -> list[int]:
    """Strides as a descriptor wants them: in torch, that of a dimension of length 1 may be anything."""
    used = zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True)
    return [*(stride if length > 1 else tensor.shape[-1] for length, stride in used), 1]


def check(q: Any, k: Any, v: Any, causal: bool, diagonal: int, scale: float | None, out: Any) -> Any:
    """Check the arguments of :func:`attention`; returns ``out``, or a new tensor for it.

    Raises ``ValueError`` naming the argument and what was expected.
    """
    import torch

    dtypes = (torch.float16, torch.bfloat16, torch.float32)
    check_tensor("q", q, dtypes=dtypes, dims=4, contiguous=False)
    check_launchable("q", q)
    if q.shape[3] not in HEADS:
        raise ValueError(f"q: a head of {' or '.join(map(str, HEADS))} elements expected, got shape {tuple(q.shape)}")
    check_tensor("k", k, like=("q", q), dims=4, contiguous=False)
    if (k.shape[0], k.shape[1], k.shape[3]) != (q.shape[0], q.shape[1], q.shape[3]):
        wanted = f"({q.shape[0]}, {q.shape[1]}, k_len, {q.shape[3]})"
        raise ValueError(f"k: shape {wanted} expected, got {tuple(k.shape)}")
    check_tensor("v", v, like=("q", q), shape=tuple(k.shape), contiguous=False)
    for name, tensor in (("q", q), ("k", k)):
        if tensor.shape[2] > _LONGEST:
            raise ValueError(f"{name}: at most {_LONGEST} rows expected, got {tensor.shape[2]}")
    check_flag("causal", causal)
    if diagonal and not causal:
        raise ValueError(f"diagonal: 0 expected without causal, got {diagonal}")
    check_number("diagonal", diagonal, -_LONGEST, _LONGEST)
    number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
    if scale is not None and not (number and 0.0 < scale < _LARGEST_SCALE):
        raise ValueError(f"scale: a positive number below {_LARGEST_SCALE:.0e} expected, got {scale!r}")
    if out is None:
        return torch.empty_like(q, memory_format=torch.contiguous_format)
    check_tensor("out", out, like=("q", q), shape=tuple(q.shape), contiguous=False)
    check_written("out", out, ("q", q), ("k", k), ("v", v))
    return out


def reference(q: Any, k: Any, v: Any, *, causal: bool = False, diagonal: int = 0, scale: float | None = None) -> Any:
    """The same line by line in torch, unfused: writes the N × N matrix of scores, and reads it again."""
    import torch

    scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(diagonal)
        scores = scores.masked_fill(~seen, float("-inf"))
        # softmax of nothing but -inf is 0 / 0; a row that sees no key shall give 0.
        return scores.softmax(-1).masked_fill(~seen.any(-1, keepdim=True), 0.0) @ v
    return scores.softmax(-1) @ v


def seen_scores(q_len: int, k_len: int, *, causal: bool = False, diagonal: int = 0) -> int:
    """Scores of one head that a mask leaves: all q_len · k_len, or those with j <= i + ``diagonal``."""
    if not causal:
        return q_len * k_len
    # Row i sees min(max(i + 1 + diagonal, 0), k_len) keys: none, then a staircase, then all.
    first, full = (min(max(edge, 0), q_len) for edge in (-diagonal, k_len - diagonal))
    stairs = (full - first) * (first + diagonal + full + diagonal + 1) // 2
    return stairs + (q_len - full) * k_len


def flops(batch: int, heads: int, q_len: int, k_len: int, head: int, *, causal: bool = False, diagonal: int = 0) -> int:
    """Arithmetic of attention: a multiplication and an addition, ``head`` times, in two products a score.

    As the papers count it: softmax is left out, and so are scores that the mask hides.
    """
    return 4 * batch * heads * head * seen_scores(q_len, k_len, causal=causal, diagonal=diagonal)


def fused_bytes(batch: int, heads: int, q_len: int, k_len: int, head: int, item: int = 2) -> int:
    """Bytes that must be moved when scores never leave the registers: read q, k and v, write the output."""
    return item * batch * heads * head * (2 * q_len + 2 * k_len)


def unfused_bytes(batch: int, heads: int, q_len: int, k_len: int, head: int, item: int = 2) -> int:
    """Bytes that :func:`reference` moves without a mask: six more trips of the N × N matrix.

    Products written, scaled (read, written), softmax (read, written), read by the second product.
    """
    return fused_bytes(batch, heads, q_len, k_len, head, item) + 6 * item * batch * heads * q_len * k_len
