"""How long one fault profile takes, once it is known how many faults to expect."""

import resource
import tempfile
import time
from pathlib import Path

from runner.profile.allowed import allowed
from runner.profile.collect import Collector, expectation
from runner.profile.elf import call_graph_of
from runner.trial import Trial


def fault_profile(trial: Trial) -> tuple[float, float, int]:
    """Return the seconds, the seconds of CPU and the faults of one profile: executed, recorded, dissected, folded."""
    expected = expectation(trial.execute().readings)
    with tempfile.TemporaryDirectory(prefix="faultwatch-") as folder:
        began, used = time.monotonic(), _cpu()
        collector = Collector(trial, call_graph_of(trial.program), allowed(), Path(folder))
        _, anatomy, _, _ = collector.faults(expected)
        return time.monotonic() - began, round(_cpu() - used, 1), anatomy.counted


def _cpu() -> float:
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, whose))
