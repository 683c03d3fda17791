"""Reads the folder ``target/criterion`` of Criterion: each ``sample.json`` with the ``benchmark.json`` beside it."""

from pydantic import Field, FiniteFloat

from runner.errors import FaultwatchError
from runner.importing.imported_result import Result, make_case
from runner.importing.imported_run import ImportDefaults, ImportedRun
from runner.importing.runs_from_results import group_results_into_runs
from runner.importing.source import Part, Source, check_document, parse_json

FORMAT_NAME = "criterion"
_LATEST_FOLDERS = frozenset({"new", "base"})
"""Folders without the name of a baseline: the latest measurement, and the latest that was not saved as a baseline."""
_RESERVED_FOLDERS = frozenset({*_LATEST_FOLDERS, "change", "report"})
"""Folders beside the saved baselines that are not baselines themselves."""


class _Sample(Part):
    iters: list[FiniteFloat] = Field(min_length=1, max_length=1_000_000)
    times: list[FiniteFloat] = Field(min_length=1, max_length=1_000_000)


class _Benchmark(Part):
    group_id: str
    function_id: str | None = None
    value_str: str | None = None


def recognises(source: Source) -> bool:
    """Return whether this is a Criterion sample."""
    return source.has_keys("sampling_mode", "iters", "times")


def read(source: Source, defaults: ImportDefaults) -> list[ImportedRun]:
    """Return the run of one benchmark.

    The latest measurement was usually saved as a baseline too, and would be imported twice. If there are baselines, it
    is therefore read only if the command line gives its revision.

    Raises
    ------
    FaultwatchError
        As :func:`parse` does, or the revision is unknown.
    """
    is_latest = source.folders[:1] == ("new",)
    if is_latest and not defaults.revision:
        baselines = set(source.list_sibling_folders()) - _RESERVED_FOLDERS
        if baselines:
            return []
    return group_results_into_runs(parse(source), FORMAT_NAME, source, defaults)


def parse(source: Source) -> list[Result]:
    """Return the times per iteration of one benchmark; of the folder ``base``, none. A baseline's name is the revision.

    Raises
    ------
    FaultwatchError
        The file is invalid, or there is no benchmark.json beside it.
    """
    sample = check_document(_Sample, source.json, source.name, "a Criterion sample")
    text = source.read_neighbour("benchmark.json")
    if text is None:
        raise FaultwatchError(
            f"there is no benchmark.json next to {source.name}", "import the whole folder target/criterion"
        )
    folder = source.folders[0] if source.folders else ""
    if folder == "base":  # It is a copy of "new", or an older measurement whose revision is unknown.
        return []
    description = check_document(
        _Benchmark, parse_json(text), f"{source.name}: benchmark.json", "a Criterion description"
    )
    if len(sample.iters) != len(sample.times) or min(sample.iters) <= 0:
        raise FaultwatchError(
            f"{source.name} is not a Criterion sample: iters and times must have the same length, and iters must be "
            "positive"
        )
    name = "/".join(filter(None, (description.group_id, description.function_id)))
    return [
        Result(
            case=make_case(name, {"value": description.value_str} if description.value_str else {}),
            metric="time",
            unit="ns",
            better="lower",
            values=tuple(time / iters for time, iters in zip(sample.times, sample.iters, strict=True)),
            revision="" if folder in _LATEST_FOLDERS else folder,
        )
    ]
