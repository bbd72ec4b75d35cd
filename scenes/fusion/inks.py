"""Who has which ink in ``fusion``, in every picture. tmp has the ink of what is to be looked at."""

from gpu_explain.scenes.draw.ink import Ink

EAGER = Ink.C
"""Not the orange one: in sixteen colours that falls together with tmp's yellow."""
FUSED = Ink.A
OTHER = Ink.WORK
"""Fused kernels that were not chosen to race."""
