"""Faultwatch as an environment sees it: one package. Its commands find everything else themselves.

A clone has this folder beside ``runner/`` and ``service/``. A wheel has those, and whatever they read, in ``tree/``, so
that an environment gets no top-level module of a name that others may use as well.
"""

import signal
import sys
from pathlib import Path

_TREE = Path(__file__).parent / "tree"


def add_tree() -> None:
    """Make ``runner`` and ``service`` importable, in this process alone. A clone is on the path as it is."""
    if _TREE.is_dir() and str(_TREE) not in sys.path:
        sys.path.insert(0, str(_TREE))


def run_runner() -> None:
    """Run the ``faultwatch`` command."""
    # Ctrl-C while Python still imports ends the process without a traceback; `main` answers it from then on.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    add_tree()
    from runner.cli import main  # noqa: PLC0415 - cannot be found before

    main()


def run_service() -> None:
    """Run the ``faultwatch-service`` command."""
    add_tree()
    from service.__main__ import main  # noqa: PLC0415 - cannot be found before

    main()
