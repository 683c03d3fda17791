"""Derives metrics from one execution: shares, and rates computed from the work that the program reports."""

from pathlib import Path

from pydantic import ValidationError

from runner.contract.report import Sample
from runner.perf.perf_stat import Execution
from runner.perf.program_failure import MAX_OUTPUT_CHARACTERS, ExecutionFailure
from runner.system.regular_file import read_regular
from runner.work_reports.metric_formulas import derive_sys_percent, derive_work_metrics
from runner.work_reports.work_done import WorkDone
from runner.work_reports.work_output import UnreadableWorkError, read_work
from runner.workload import Workload

MAX_RESULT_BYTES = 16 << 20
"""The largest size of a result file. A program can make a sparse file of many gigabytes."""
_MAX_QUOTED_CHARACTERS = 120


def derive_sample(execution: Execution, workload: Workload, tree: Path) -> Sample:
    """Return the sample of an execution: the readings of perf and the derived metrics.

    Raises
    ------
    ExecutionFailure
        The program does not report its work in the format that its workload declares.
    """
    readings = dict(execution.sample.readings)
    readings |= derive_sys_percent(readings)
    if workload.run.output != "none":
        work = _read_work_done(execution, workload, tree)
        try:
            readings |= derive_work_metrics(readings, work)
        except (ValidationError, ArithmeticError):
            raise ExecutionFailure(
                f"the program reports {work.operations:g} operations in {work.seconds:g} s; a metric computed from "
                f"these numbers is out of range"
            ) from None
    return execution.sample.model_copy(update={"readings": readings})


def locate_result_file(tree: Path, name: str) -> Path:
    """Return the path of a result file, after checking that it is missing or a regular file in the build.

    Raises
    ------
    ExecutionFailure
        The name or a link leads out of the build, or the file exists and is not a regular file.
    """
    file = tree / name
    try:
        is_inside = file.resolve().is_relative_to(tree.resolve())
    except (OSError, RuntimeError):  # RuntimeError: links that point to each other
        raise ExecutionFailure(f"the result file {name} is a link that points to itself") from None
    if not is_inside:
        raise ExecutionFailure(f"the result file {name} is outside the build's directory")
    if file.exists() and not file.is_file():
        # Opening a pipe would block forever.
        raise ExecutionFailure(f"the result file {name} is not a regular file")
    return file


def _read_work_done(execution: Execution, workload: Workload, tree: Path) -> WorkDone:
    """Return the work that the program reports in its output or its result file.

    Raises
    ------
    ExecutionFailure
        The result file cannot be read, or the text does not report the work in the declared format.
    """
    run = workload.run
    text, origin = execution.output, "standard output"
    if run.output_file is not None:
        origin = run.output_file
        try:
            text = read_regular(locate_result_file(tree, run.output_file), MAX_RESULT_BYTES).decode(errors="replace")
        except OSError as error:
            raise ExecutionFailure(f"the result file {origin} cannot be read: {error.strerror}") from None
    try:
        return read_work(text, run.output, run.pattern)
    except UnreadableWorkError as error:
        lines = text.strip().splitlines()
        last_line_clause = f"its last line is {lines[-1][:_MAX_QUOTED_CHARACTERS]!r}" if lines else "it is empty"
        raise ExecutionFailure(
            f"{origin} does not report the work done: {error}; {last_line_clause}",
            text[-MAX_OUTPUT_CHARACTERS:],
        ) from None
