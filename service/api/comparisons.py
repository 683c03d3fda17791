"""Comparisons: decided from what is sent, nothing stored."""

from __future__ import annotations

from apiflask import APIBlueprint

from runner.contract import Comparison, ComparisonRequest
from service import gate

bp = APIBlueprint("comparisons", __name__)


@bp.post("/comparisons")
@bp.input(ComparisonRequest)
@bp.output(Comparison)
def post(json_data: ComparisonRequest) -> Comparison:
    """Return what is known about base and head that were measured in turns, and how many pairs are still needed."""
    return gate.decide(json_data)
