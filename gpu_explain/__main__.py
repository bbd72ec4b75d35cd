"""``python -m gpu_explain``: the same program as the ``gpu-explain`` command."""

from gpu_explain.app.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
