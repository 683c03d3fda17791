"""Comparisons of two reports that were measured interleaved; nothing is stored."""

from __future__ import annotations

from http import HTTPStatus

from apiflask import APIBlueprint

from runner.contract import Comparison, ComparisonRequest
from service.rules.comparison import comparison_verdict
from service.web.problems import FieldError, ProblemError

bp = APIBlueprint("comparisons", __name__)


@bp.post("/comparisons")
@bp.input(ComparisonRequest)
@bp.output(Comparison)
def post(json_data: ComparisonRequest) -> Comparison:
    """Compare a base and a head that were measured interleaved, and return how many more pairs are needed."""
    refuse_quarantined_runs(json_data)
    return comparison_verdict.decide_comparison(json_data)


def refuse_quarantined_runs(request: ComparisonRequest) -> None:
    """Refuse a comparison of a run in quarantine, for example because its host counted incorrectly.

    Raises
    ------
    ProblemError
        422, where a side is in quarantine.
    """
    for name, side in (("base", request.base), ("head", request.head)):
        if side.quarantine:
            detail = f"cannot be judged: {side.quarantine}"
            raise ProblemError(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"{name} {detail}", [FieldError(field=f"{name}.canary", detail=detail)]
            )
