"""``python -m runner`` is the ``faultwatch`` command."""

from runner.cli import main

if __name__ == "__main__":
    main()
