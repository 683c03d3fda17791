"""``python -m runner`` is the ``faultwatch`` command."""

from faultwatch import run_runner

if __name__ == "__main__":
    run_runner()
