"""Painters: pure functions from what is known to a canvas. None of them knows a terminal."""
