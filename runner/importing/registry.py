"""The formats that can be imported, and how to find the format of a file."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct
from pydantic import ValidationError

from runner.errors import FaultwatchError
from runner.importing.formats import (
    asv,
    benchmark_action,
    criterion,
    csv_columns,
    go_bench,
    google_benchmark,
    hyperfine,
    jmh,
    lnt,
    load_output,
    perf_output,
    pyperf_suite,
    pytest_benchmark,
)
from runner.importing.imported_result import Result
from runner.importing.imported_run import ImportDefaults, ImportedRun
from runner.importing.runs_from_results import group_results_into_runs
from runner.importing.source import Source, describe_first_mistake, shorten_message


class Format(Struct, frozen=True):
    """One format.

    Attributes
    ----------
    recognises
        Returns whether a file has this format, by its content.
    read
        Returns the runs of a file, or raises a FaultwatchError.
    """

    name: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source, ImportDefaults], list[ImportedRun]]


def _make_result_format(
    name: str, recognises: Callable[[Source], bool], parse: Callable[[Source], list[Result]]
) -> Format:
    """Return a format from a parser that returns single results, which are then grouped into runs."""
    return Format(
        name, recognises, lambda source, defaults: group_results_into_runs(parse(source), name, source, defaults)
    )


_CUSTOM_FORMATS = [
    _make_result_format(name, benchmark_action.recognises_custom, partial(benchmark_action.parse_custom, better=better))
    for name, better in benchmark_action.DIRECTION_BY_CUSTOM_FORMAT.items()
]
_FORMAT_WITHOUT_DIRECTION = _make_result_format(
    "", benchmark_action.recognises_custom, partial(benchmark_action.parse_custom, better=None)
)
"""Recognises the files of the custom formats, but only raises: the user has to say which direction is better."""
_RECOGNISABLE_FORMATS = (
    # Files of pyperf, Google Benchmark and pytest-benchmark have keys in common, so the most specific format is first.
    _make_result_format(pytest_benchmark.FORMAT_NAME, pytest_benchmark.recognises, pytest_benchmark.parse),
    _make_result_format(google_benchmark.FORMAT_NAME, google_benchmark.recognises, google_benchmark.parse),
    Format(pyperf_suite.FORMAT_NAME, pyperf_suite.recognises, pyperf_suite.read),
    *(
        _make_result_format(module.FORMAT_NAME, module.recognises, module.parse)
        for module in (hyperfine, jmh, asv, lnt, go_bench)
    ),
    Format(criterion.FORMAT_NAME, criterion.recognises, criterion.read),
    _make_result_format(
        benchmark_action.FORMAT_NAME, benchmark_action.recognises_history, benchmark_action.parse_history
    ),
    _FORMAT_WITHOUT_DIRECTION,
    Format(perf_output.FORMAT_NAME, perf_output.recognises, perf_output.read),
    *(
        Format(name, partial(load_output.recognises, name=name), partial(load_output.read, name=name))
        for name in load_output.FORMAT_NAMES
    ),
)
FORMATS = {
    known_format.name: known_format for known_format in (*_RECOGNISABLE_FORMATS, *_CUSTOM_FORMATS) if known_format.name
}
"""The formats, by the name that ``--format`` takes."""
_CSV_FORMAT = Format("csv", lambda _: True, csv_columns.read)


def find_format(source: Source, defaults: ImportDefaults) -> Format | None:
    """Return the format that the user chose, or else the first that recognises the file; None if none does."""
    if defaults.columns:
        return _CSV_FORMAT
    if defaults.format:
        return FORMATS[defaults.format]
    return next((known_format for known_format in _RECOGNISABLE_FORMATS if known_format.recognises(source)), None)


def read_source(file_format: Format, source: Source, defaults: ImportDefaults) -> list[ImportedRun]:
    """Return the runs of a file.

    Raises
    ------
    FaultwatchError
        The file is damaged or incomplete. The message is one line, even if it quotes the file.
    """
    try:
        return file_format.read(source, defaults)
    except ValidationError as error:
        raise FaultwatchError(shorten_message(f"{source.name}: {describe_first_mistake(error)}")) from None
    except FaultwatchError as error:
        raise FaultwatchError(shorten_message(error.what), error.remedy) from None


def make_unknown_format_error(source: Source) -> FaultwatchError:
    """Return the error for a file that no format recognises."""
    reason = ""
    if source.text.lstrip()[:1] in {"{", "["} and source.json is None:
        reason = ", and is not a complete JSON document either"
    return FaultwatchError(
        f"{source.name} is not in a format that can be imported{reason}",
        f"formats: {', '.join(FORMATS)}; a CSV file of many runs needs --columns",
    )
