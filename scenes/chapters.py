"""Titles of the chapters, in order. The scenes name theirs by number."""

CHAPTERS: dict[int, str] = {
    1: "One line of PyTorch",
    2: "Threads and warps",
    3: "Blocks on SMs",
    4: "The memory hierarchy",
    5: "Triton: blocks of data",
    6: "Fewer trips, fewer launches",
    7: "Load less often, reuse more",
}
