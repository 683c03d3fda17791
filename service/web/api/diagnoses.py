"""Diagnoses of the profiles in a request; nothing is stored."""

from __future__ import annotations

from apiflask import APIBlueprint

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from service.rules.diagnose.diagnosis import diagnose_profile

bp = APIBlueprint("diagnoses", __name__)


@bp.post("/diagnoses")
@bp.input(DiagnosisRequest)
@bp.output(Diagnosis)
def post(json_data: DiagnosisRequest) -> Diagnosis:
    """Name the pathology that a profile shows, with the evidence and the remedies."""
    return diagnose_profile(json_data)
