"""How long one fault profile takes, once it is known how many faults to expect: from its start to being stored."""

import resource
import tempfile
import time
import uuid
from pathlib import Path

from bench.store_service import Service
from runner.measuring.trial import Trial
from runner.profile.case_profiler import Collector, collect_profile, open_profiling
from runner.profile.recorded_region import compute_expected_counts
from runner.profile.stack_unwinding import choose_call_graph
from runner.reporting.client import Service as Client


def fault_profile(trial: Trial) -> tuple[float, float, int]:
    """Return the seconds, the seconds of CPU and the faults of one profile: recorded, dissected, folded, uploaded."""
    made = collect_profile(trial, with_times=False)
    expected = compute_expected_counts(made.readings)
    with tempfile.TemporaryDirectory(prefix="faultwatch-") as folder, open_profiling() as profiling:
        service = Service(Path(folder, "home"))
        try:
            began, used = time.monotonic(), _cpu()
            collector = Collector.for_trial(trial, choose_call_graph(trial.program), profiling)
            _, pending_anatomy = collector.record_faults(expected)
            pending_faults = collector.record_fault_stacks(expected, expected.faults)
            (anatomy, census), faults = pending_anatomy.result(), pending_faults.result()
            frames = tuple(collector.frame_table.frames)
            told = {"frames": frames, "faults": faults, "anatomy": anatomy, "census": census}
            profile = made.model_copy(update={"profile_id": uuid.uuid4(), **told})
            Client(f"http://127.0.0.1:{service.port}").send_profile(profile)
            return time.monotonic() - began, round(_cpu() - used, 1), anatomy.counted
        finally:
            service.kill()


def _cpu() -> float:
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, whose))
