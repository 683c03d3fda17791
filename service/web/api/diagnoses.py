"""Diagnoses: made from the profiles that are sent, nothing stored."""

from __future__ import annotations

from apiflask import APIBlueprint

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from service.rules.diagnose import diagnose

bp = APIBlueprint("diagnoses", __name__)


@bp.post("/diagnoses")
@bp.input(DiagnosisRequest)
@bp.output(Diagnosis)
def post(json_data: DiagnosisRequest) -> Diagnosis:
    """Name what a profile shows, with the evidence and what can be done about it."""
    return diagnose(json_data)
