"""The request for a diagnosis of two profiles."""

from __future__ import annotations

from runner.contract.code_change import ChangeFromCommit
from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.report import Revision
from tests.service.profiles import NOW, profile

LINES = {"a.c": ((3, 4),)}


def test_the_change_of_the_later_profile_counts_if_it_starts_at_the_commit_of_the_earlier_one() -> None:
    base, other = (Revision(commit=letter * 40, committed_at=NOW, title="") for letter in "ab")
    after = profile(None, change=ChangeFromCommit(base=base.commit, changed_lines=LINES))
    request = DiagnosisRequest.from_profiles(profile(None, revision=base), after)
    assert request.changed_lines == LINES
    assert request.profile.change is None, "the change is sent once"
    for before in (profile(None, revision=other), None):
        assert DiagnosisRequest.from_profiles(before, after).changed_lines == {}
