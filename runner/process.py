"""The old place of :mod:`runner.state.process`."""

from runner.state.process import ProcessState
from runner.state.start import BASE_VARIABLES

__all__ = ["BASE_VARIABLES", "ProcessState"]
