"""A night, told: what was planned, what came of it, and what did not run and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runner.contract import Outcome
from runner.contract.night import CaseState, CellDigest, NightCase, NightCell, NightDigest, NightDrift

_STATES = {
    Outcome.MEASURED: CaseState.MEASURED,
    Outcome.FAILED: CaseState.FAILED,
    Outcome.SKIPPED: CaseState.SKIPPED,
}


@dataclass(frozen=True, slots=True)
class CaseRun:
    """The newest run of a case of a cell."""

    run_id: UUID
    outcome: Outcome
    failure: str
    quarantine: str | None


def merge_cells(known: Iterable[NightCell], told: Iterable[NightCell]) -> tuple[NightCell, ...]:
    """Return the cells of a night after some were told: what is planned again does not undo what was carried out."""
    cells = {cell.place: cell for cell in known}
    for cell in told:
        if cell.carried_out or cell.place not in cells:
            cells[cell.place] = cell
    return tuple(cells.values())


def make_digest(
    name: str,
    started_at: datetime,
    cells: Sequence[NightCell],
    found: Sequence[Mapping[int, CaseRun]],
    drifts: Sequence[NightDrift],
) -> NightDigest:
    """Tell a night.

    Parameters
    ----------
    found
        For each cell: the newest run of each of its cases that has one, by the case's index.
    """
    told = tuple(_cell(cell, runs) for cell, runs in zip(cells, found, strict=True))
    hosts = {cell.host for cell in cells}
    absent = tuple(sorted(hosts - {cell.host for cell in cells if cell.carried_out}))
    complete = sum(_is_complete(cell) for cell in told)
    return NightDigest(
        night=name,
        started_at=started_at,
        complete=complete == len(told),
        sentence=_sentence(complete, len(told), absent, len(drifts)),
        absent=absent,
        cells=told,
        drifts=tuple(drifts),
    )


@dataclass(frozen=True, slots=True)
class Missed:
    """Something that was planned for a night and was not measured, and why."""

    host: str
    configuration: str
    workload: str
    case: str
    """Empty where it is the whole cell."""
    why: str
    run_id: UUID | None = None


def list_missed(told: NightDigest) -> list[Missed]:
    """Return what a night did not measure: cells that nobody was at or that could not begin, and cases."""
    found: list[Missed] = []
    for cell in told.cells:
        place = cell.host, cell.configuration, cell.workload
        if not cell.carried_out:
            absent = f"{cell.host} did not show up" if cell.host in told.absent else f"{cell.host} was not at it"
            found.append(Missed(*place, case="", why=cell.problem or absent))
        elif cell.problem:
            found.append(Missed(*place, case="", why=cell.problem))
        found += [
            Missed(*place, case=case.name, why=_why(case), run_id=case.run_id)
            for case in cell.cases
            if case.state is not CaseState.MEASURED
        ]
    return found


def _why(case: NightCase) -> str:
    return f"{case.state}: {case.why}" if case.why else str(case.state)


def _cell(cell: NightCell, runs: Mapping[int, CaseRun]) -> CellDigest:
    return CellDigest(
        host=cell.host,
        configuration=cell.configuration,
        workload=cell.workload,
        carried_out=cell.carried_out,
        problem=cell.problem,
        attempts=cell.attempts,
        cases=tuple(_case(case.name, runs.get(index)) for index, case in enumerate(cell.cases)),
    )


def _case(name: str, run: CaseRun | None) -> NightCase:
    if run is None:
        return NightCase(name=name, state=CaseState.MISSING, why="no report of it has arrived")
    if run.quarantine is not None:
        return NightCase(name=name, state=CaseState.QUARANTINED, why=run.quarantine, run_id=run.run_id)
    return NightCase(name=name, state=_STATES[run.outcome], why=run.failure, run_id=run.run_id)


def _is_complete(cell: CellDigest) -> bool:
    measured = all(case.state is CaseState.MEASURED for case in cell.cases)
    return cell.carried_out and not cell.problem and measured


def _sentence(complete: int, planned: int, absent: Sequence[str], drifts: int) -> str:
    said = [f"{complete} of {planned} cells are complete"]
    if absent:
        said.append(f"{', '.join(absent)} did not show up")
    said.append(f"{drifts} drifts begin here" if drifts else "no drift begins here")
    return "; ".join(said) + "."
