"""Summarises a nightly run: its cells, the outcome of each case, and why cells or cases were not measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runner.contract import Outcome
from runner.contract.nightly import CaseState, CellDigest, NightlyCase, NightlyCell, NightlyDigest, NightlyDrift
from runner.contract.quarantine import REUSED
from runner.contract.word_list import join_words

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


def merge_cells(stored_cells: Iterable[NightlyCell], reported_cells: Iterable[NightlyCell]) -> tuple[NightlyCell, ...]:
    """Merge newly reported cells into the stored ones; a new plan does not undo a cell that was carried out."""
    cells = {cell.place: cell for cell in stored_cells}
    for cell in reported_cells:
        if cell.carried_out or cell.place not in cells:
            cells[cell.place] = cell
    return tuple(cells.values())


def make_digest(
    name: str,
    started_at: datetime,
    cells: Sequence[NightlyCell],
    runs: Sequence[Mapping[int, CaseRun]],
    drifts: Sequence[NightlyDrift],
) -> NightlyDigest:
    """Return the digest of a nightly run.

    Parameters
    ----------
    runs
        For each cell: the newest run of each case that has runs, by the index of the case.
    """
    digests = tuple(_summarise_cell(cell, runs_of_cell) for cell, runs_of_cell in zip(cells, runs, strict=True))
    hosts = {cell.host for cell in cells}
    absent_hosts = tuple(sorted(hosts - {cell.host for cell in cells if cell.carried_out}))
    n_complete = sum(_is_complete(cell) for cell in digests)
    return NightlyDigest(
        name=name,
        started_at=started_at,
        complete=n_complete == len(digests),
        sentence=_describe_digest(n_complete, len(digests), absent_hosts, len(drifts)),
        absent_hosts=absent_hosts,
        cells=digests,
        drifts=tuple(drifts),
    )


@dataclass(frozen=True, slots=True)
class Missed:
    """A cell or case that was planned for a nightly run but not measured, and the reason."""

    host: str
    configuration: str
    workload: str
    case: str
    """The case; empty if the whole cell was missed."""
    reason: str
    run_id: UUID | None = None

    @property
    def place(self) -> tuple[str, str, str]:
        """The key of the cell within its nightly run."""
        return self.host, self.configuration, self.workload


def list_missed_cells(digest: NightlyDigest) -> list[Missed]:
    """Return the cells that a nightly run did not or could not carry out, and the cases that it did not measure."""
    misses: list[Missed] = []
    for cell in digest.cells:
        cell_key = cell.host, cell.configuration, cell.workload
        if not cell.carried_out:
            host = cell.host
            missing = "reported" if host in digest.absent_hosts else "run this workload in this configuration"
            reason = f"{host} has not {missing}"
            misses.append(Missed(*cell_key, case="", reason=cell.problem or reason))
        elif cell.problem:
            misses.append(Missed(*cell_key, case="", reason=cell.problem))
        misses += [
            Missed(*cell_key, case=case.name, reason=_explain_case(case), run_id=case.run_id)
            for case in cell.cases
            if case.state is not CaseState.MEASURED
        ]
    return misses


def _explain_case(case: NightlyCase) -> str:
    return f"{case.state}: {case.reason}" if case.reason else str(case.state)


def _summarise_cell(cell: NightlyCell, runs: Mapping[int, CaseRun]) -> CellDigest:
    """Return a cell of a nightly run with the outcome of each of its cases."""
    return CellDigest(
        host=cell.host,
        configuration=cell.configuration,
        workload=cell.workload,
        carried_out=cell.carried_out,
        problem=cell.problem,
        attempts=cell.attempts,
        cases=tuple(_summarise_case(case.name, runs.get(index)) for index, case in enumerate(cell.cases)),
    )


def _summarise_case(name: str, run: CaseRun | None) -> NightlyCase:
    """Return the outcome of one case of a cell, with the reason if it has no result."""
    if run is None:
        return NightlyCase(name=name, state=CaseState.MISSING, reason="no report has arrived")
    if run.quarantine not in {None, REUSED}:
        return NightlyCase(name=name, state=CaseState.QUARANTINED, reason=run.quarantine, run_id=run.run_id)
    return NightlyCase(name=name, state=_STATES[run.outcome], reason=run.failure, run_id=run.run_id)


def _is_complete(cell: CellDigest) -> bool:
    is_measured = all(case.state is CaseState.MEASURED for case in cell.cases)
    return cell.carried_out and not cell.problem and is_measured


def _describe_digest(n_complete: int, n_planned: int, absent_hosts: Sequence[str], n_drifts: int) -> str:
    """Return in one sentence how many cells are complete, which hosts are absent, and how many drifts are new."""
    parts = [f"{n_complete} of {n_planned} cells {'is' if n_complete == 1 else 'are'} complete"]
    if absent_hosts:
        parts.append(f"{join_words(absent_hosts)} {'has' if len(absent_hosts) == 1 else 'have'} not reported")
    if n_drifts:
        parts.append(f"{n_drifts} {'drifts are' if n_drifts > 1 else 'drift is'} new")
    else:
        parts.append("no drift is new")
    return "; ".join(parts) + "."
