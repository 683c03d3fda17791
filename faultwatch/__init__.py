"""Faultwatch as an environment sees it: one package. Its commands find everything else themselves.

A clone has this folder beside ``runner/`` and ``service/``. A wheel has those, and whatever they read, in ``tree/``, so
that an environment gets no top-level module of a name that others may use as well.
"""

# Nothing that Python has not loaded itself: Ctrl-C during an import before run_runner shows a traceback.
import _signal as signal  # type: ignore[import-not-found]  # the module signal makes enumerations of it
import os
import sys

_TREE = os.path.join(os.path.dirname(__file__), "tree")  # noqa: PTH118, PTH120 - pathlib imports for 10 ms


def add_tree() -> None:
    """Make ``runner`` and ``service`` importable, in this process alone. A clone is on the path as it is."""
    if os.path.isdir(_TREE) and _TREE not in sys.path:  # noqa: PTH112 - as above
        sys.path.insert(0, _TREE)


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
