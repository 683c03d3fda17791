"""Groups the results of a file into runs."""

from collections.abc import Iterable, Sequence

from runner.contract.imported_metric import Better, name_imported_metric
from runner.contract.judging import Judging
from runner.contract.metrics import get_metric
from runner.contract.report import IMPORT_FORMAT, Reading, Sample
from runner.importing.direction import choose_direction
from runner.importing.imported_result import Result
from runner.importing.imported_run import ImportDefaults, ImportedRun
from runner.importing.provenance import locate_result
from runner.importing.sample_limit import limit_samples
from runner.importing.source import Source, shorten_message

_MAX_METRICS = 100
"""The largest number of metrics that are judged for one case."""
_MAX_SETTING_CHARACTERS = 1000
"""How much of the text of each setting is kept: a file can contain any length."""


def group_results_into_runs(
    results: Iterable[Result], format_name: str, source: Source, defaults: ImportDefaults
) -> list[ImportedRun]:
    """Group results into runs: those with the same case, revision, time, host and settings form one run."""
    groups: dict[object, list[Result]] = {}
    for result in results:
        settings = tuple(sorted(result.settings.items()))
        key = (result.case.name, result.case.definition, result.revision, result.time, result.host, settings)
        groups.setdefault(key, []).append(result)
    return [_make_run(group, format_name, source, defaults) for group in groups.values()]


def _make_run(group: Sequence[Result], format_name: str, source: Source, defaults: ImportDefaults) -> ImportedRun:
    """Return results of one case as a run; sample number *i* contains value number *i* of each metric.

    If a file contains the same benchmark several times, the run contains all values.
    """
    first_result = group[0]
    location = shorten_message(f"{source.name}: {first_result.case.name:.100}")
    placement = locate_result(source, defaults, location, first_result.revision, first_result.time)
    values_by_metric: dict[str, list[float]] = {}
    tool_metrics: dict[str, tuple[str, str]] = {}  # By name in reports: the tool's name of the metric, and its unit.
    judged_metrics = []
    for result in group:
        better = choose_direction(result, defaults)
        name = _build_metric_name(result, better)
        # Of different metrics of the tool that get the same name, only the first is read.
        if tool_metrics.setdefault(name, (result.metric, result.unit)) == (result.metric, result.unit):
            values_by_metric.setdefault(name, []).extend(result.values)
        if better and name not in judged_metrics:
            judged_metrics.append(name)
    columns = {name: limit_samples(values) for name, values in values_by_metric.items()}
    n_samples = max(map(len, columns.values()))
    samples = tuple(
        Sample(readings={name: Reading(value=values[i]) for name, values in columns.items() if i < len(values)})
        for i in range(n_samples)
    )
    settings = {key: " ".join(value.split())[:_MAX_SETTING_CHARACTERS] for key, value in first_result.settings.items()}
    return ImportedRun(
        location=location,
        revision=placement.revision,
        case=first_result.case,
        started_at=placement.time,
        samples=samples,
        settings={IMPORT_FORMAT: format_name} | settings,
        subject=first_result.subject,
        host=first_result.host,
        judging=Judging(judge=tuple(judged_metrics[:_MAX_METRICS])),
        time_is_known=placement.time_is_known,
        not_judged=tuple(get_metric(name).title for name in columns if name not in judged_metrics),
    )


def _build_metric_name(result: Result, better: Better | None) -> str:
    """Return the name of a result's metric in reports. It needs a direction, which is ``lower`` if none is known."""
    if result.in_catalogue:
        return result.metric
    return name_imported_metric(result.metric, result.unit, better or "lower")
