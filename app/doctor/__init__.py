"""``gpu-explain doctor``: what is and is not usable here, how we know, and the command that mends it.

It changes nothing on the machine: what must be loaded to be known is loaded in child processes with time limits,
folders are looked at and not made, and what ``--deep`` compiles goes into a temporary folder.
"""
