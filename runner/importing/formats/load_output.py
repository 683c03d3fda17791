"""Reads what load generators print about a server: its operations per second, and percentiles of their latency."""

from runner.errors import FaultwatchError
from runner.importing.imported_result import Result, make_case
from runner.importing.imported_run import ImportDefaults, ImportedRun
from runner.importing.runs_from_results import group_results_into_runs
from runner.importing.source import Source
from runner.work_reports.load_generators import LOAD_GENERATOR_READERS
from runner.work_reports.work_output import UnreadableWorkError, read_work

FORMAT_NAMES = tuple(LOAD_GENERATOR_READERS)


def recognises(source: Source, name: str) -> bool:
    """Return whether this is output of the load generator ``name``, and could not be that of another one."""
    if not _is_readable(source.text, name):
        return False
    return not any(_is_readable(source.text, other) for other in FORMAT_NAMES if other != name)


def read(source: Source, defaults: ImportDefaults, name: str) -> list[ImportedRun]:
    """Return the run that a load generator reports. Its case is named after the tool unless ``--case`` names it.

    Raises
    ------
    FaultwatchError
        The tool's summary is missing, there is more than one, or the revision is unknown.
    """
    try:
        work = read_work(source.text, name)
    except UnreadableWorkError as error:
        raise FaultwatchError(f"{source.name} is not the output of {name}: {error}") from None
    case = make_case(defaults.case or name)
    throughput = work.operations / work.seconds
    results = [Result(case, "throughput", unit="", better="higher", values=(throughput,), in_catalogue=True)]
    results += [
        Result(case, f"latency-{percentile}", unit="", better="lower", values=(seconds,), in_catalogue=True)
        for percentile, seconds in work.latencies.items()
    ]
    return group_results_into_runs(results, name, source, defaults)


def _is_readable(text: str, name: str) -> bool:
    """Return whether a text is complete output of a load generator."""
    try:
        read_work(text, name)
    except UnreadableWorkError:
        return False
    return True
