"""Who has which ink and fill in ``fusion``, in every picture. tmp has the ink of what is to be looked at.

The two clocks and the two places where tmp may be found have inks of their own: they are no entrants.
"""

from gpu_explain.scenes.draw.bars import DARK, FULL, HATCHED, LIGHT, MEDIUM
from gpu_explain.scenes.draw.ink import Ink

EAGER = Ink.C
"""Not the orange one: in sixteen colours that falls together with tmp's yellow."""
FUSED = Ink.A
OTHER = Ink.WORK
"""Fused kernels that were not chosen to race."""
HOST_CLOCK, GPU_CLOCK = Ink.B, Ink.GOOD
"""A call in a loop by the host's clock; the kernels alone by the GPU's."""
IN_L2, IN_MEMORY = Ink.GOOD, Ink.C
"""relu where tmp was still in the L2, and where it came from memory as eager's usually does."""

FILLS = {EAGER: FULL, FUSED: DARK, OTHER: MEDIUM, Ink.COMPUTED: LIGHT, Ink.LOOK: HATCHED}
"""What bars of these inks are made of: a screen without colours tells entrants, tmp and what is computed apart too."""
