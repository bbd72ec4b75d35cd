"""The program: ``python -m gpu_explain``, and the ``gpu-explain`` command.

Nothing is imported above, so that Ctrl-C is held back before anything that takes time is.
"""


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    from gpu_explain.app.interrupts import end, hold

    hold()
    from gpu_explain.app.cli import main as run

    try:
        return run()
    finally:
        end()


if __name__ == "__main__":
    raise SystemExit(main())
