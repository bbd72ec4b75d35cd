"""gpu-explain: what your GPU really does when your PyTorch line runs.

The package folders ``app``, ``kernels``, ``cuda`` and ``scenes`` are links to the
top level of the repository, so that they stay where readers look for them and
still install as one package. Importing this module imports nothing else.
"""

__version__ = "0.1.0"
