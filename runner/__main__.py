"""``python -m runner`` is the ``faultwatch`` command."""

from runner.cli import main

main()
