"""Reads the digest of a nightly run: which cells are complete, and why others are not."""

from collections.abc import Iterator

from runner.contract.nightly import CaseState, CellDigest, NightlyDigest


def is_complete(cell: CellDigest) -> bool:
    """Return whether all cases of a cell have been measured."""
    return cell.carried_out and not cell.problem and all(case.state is CaseState.MEASURED for case in cell.cases)


def list_gaps(digest: NightlyDigest) -> Iterator[tuple[CellDigest, str]]:
    """Yield each incomplete cell with the reason."""
    for cell in digest.cells:
        if not cell.carried_out:
            is_absent = cell.host in digest.absent_hosts
            yield cell, "the host has not reported" if is_absent else "the host has not run it yet"
        elif cell.problem:
            yield cell, cell.problem
        for case in cell.cases:
            if case.state is not CaseState.MEASURED:
                reason_clause = f": {case.reason}" if case.reason else ""
                yield cell, f"{case.name}: {case.state}{reason_clause}"
