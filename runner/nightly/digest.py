"""What is told of a night: the cells that did not run, and why. Pure."""

from collections.abc import Iterator

from runner.contract.night import CaseState, CellDigest, NightDigest


def is_complete(cell: CellDigest) -> bool:
    """Whether all cases of a cell are measured."""
    return cell.carried_out and not cell.problem and all(case.state is CaseState.MEASURED for case in cell.cases)


def gaps(digest: NightDigest) -> Iterator[tuple[CellDigest, str]]:
    """Yield each reason why something of a night is missing, with its cell."""
    for cell in digest.cells:
        if not cell.carried_out:
            yield cell, "the host did not show up" if cell.host in digest.absent else "the host has not been at it"
        elif cell.problem:
            yield cell, cell.problem
        for case in cell.cases:
            if case.state is not CaseState.MEASURED:
                yield cell, f"{case.name}: {case.state}" + (f": {case.why}" if case.why else "")
