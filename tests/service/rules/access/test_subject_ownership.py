"""Which subjects a repository may own."""

from __future__ import annotations

from service.rules.access.subject_ownership import compute_job_limits, may_own_subject


def test_a_repository_takes_the_subject_of_its_name_and_those_assigned_to_it() -> None:
    limits = compute_job_limits("octo/copies", [("octo/copies", "bench-*")], None)
    assert may_own_subject("octo/copies", "Copies", limits.subjects)
    assert may_own_subject("octo/copies", "bench-sort", limits.subjects)
    assert not may_own_subject("octo/copies", "sorted", limits.subjects)
    assert may_own_subject("octo/copies", "copies", None), "a token from before there were limits"
    assert not may_own_subject("octo/copies", "sorted", None)


def test_a_name_that_is_assigned_to_another_repository_is_not_its_own() -> None:
    limits = compute_job_limits("fork/copies", [("octo/copies", "copies")], ("lab-*",))
    assert not may_own_subject("fork/copies", "copies", limits.subjects)
    assert limits.hosts == ("lab-*",)
