"""The vocabulary every scene draws with, on a grid of cells. No terminal library, no clock, no device."""
