"""Carry out the cells of a night on this host."""

from collections.abc import Callable
from dataclasses import dataclass

from runner.campaigns.history_measurement import HistoryMeasurement, HistoryObserver
from runner.contract.night import CaseState, CellDigest, NightCell, NightDigest, NightPart
from runner.contract.report import Case, Revision
from runner.errors import FaultwatchError
from runner.reporting.client import Service

BROKEN = {CaseState.FAILED, CaseState.MISSING}
"""What is tried again. A case that this host cannot measure stays as it is, and so does a host that counts wrong."""


@dataclass(frozen=True, slots=True)
class PreparedCell:
    """A cell that can be measured."""

    measurement: HistoryMeasurement
    revision: Revision
    cases: tuple[Case, ...]


Prepare = Callable[[], PreparedCell]


def run_cell(
    night: str, cell: NightCell, prepare: Prepare, *, service: Service, watcher: HistoryObserver, retries: int
) -> NightDigest:
    """Measure what is left of a cell, and its broken cases again; what cannot be measured at all is told as that.

    Each time the service says what has come of the cell: what it does not have is not measured.
    """
    try:
        prepared = prepare()
        prepared.measurement.measure((prepared.revision,), watcher)
    except FaultwatchError as error:
        return _tell(service, night, cell.model_copy(update={"problem": str(error)[:1000]}))
    done = cell.model_copy(
        update={
            "subject": prepared.measurement.repository.name,
            "revision": prepared.revision.commit,
            "cases": prepared.cases,
        }
    )
    digest = _tell(service, night, done)
    for attempt in range(2, retries + 2):
        broken = _broken(digest, done)
        if not broken:
            break
        try:
            prepared.measurement.measure_again(prepared.revision, broken, watcher)
        except FaultwatchError as error:
            return _tell(service, night, done.model_copy(update={"problem": str(error)[:1000], "attempts": attempt}))
        digest = _tell(service, night, done.model_copy(update={"attempts": attempt}))
    return digest


def _tell(service: Service, night: str, cell: NightCell) -> NightDigest:
    return service.update_night(night, NightPart(cells=(cell.model_copy(update={"carried_out": True}),)))


def _broken(digest: NightDigest, cell: NightCell) -> tuple[Case, ...]:
    states = {case.name: case.state for case in _told(digest, cell).cases}
    return tuple(case for case in cell.cases if states.get(case.name) in BROKEN)


def _told(digest: NightDigest, cell: NightCell) -> CellDigest:
    return next(one for one in digest.cells if (one.host, one.configuration, one.workload) == cell.place)
