"""How far a token reaches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.access.reach import EVERYWHERE, Reach, find_reach_of_job, matches_any, may_own_subject
from service.rules.access.scope import Scope

_NAMES = st.text("ab-.*/", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("name", "patterns", "fits"),
    [
        ("bench-1", None, True),
        ("bench-1", ("bench-*",), True),
        ("bench-1", ("BENCH-1",), True),
        ("bench-1", ("bench-2", "lab"), False),
        ("bench-10", ("bench-1",), False),
        ("octo/copies", ("octo/*",), True),
        ("octo/copies/x", ("octo/*",), False),
        ("evil/octo", ("*octo",), False),
        ("a.b", ("a?b",), False),
        ("axb", ("a.b",), False),
        ("anything", (), False),
    ],
)
def test_a_pattern_fits_whole_names(name: str, patterns: tuple[str, ...] | None, fits: bool) -> None:
    assert matches_any(name, patterns) is fits


@given(_NAMES, _NAMES)
def test_a_star_spans_no_slash(name: str, pattern: str) -> None:
    if matches_any(name, (pattern,)):
        assert name.count("/") == pattern.count("/")


@pytest.mark.parametrize(
    ("reach", "scopes", "objection"),
    [
        (EVERYWHERE, {Scope.REPORT}, ""),
        (EVERYWHERE, {Scope.ADMIN}, ""),
        (EVERYWHERE, {Scope.REGISTER}, "names its repositories"),
        (Reach(repositories=("octo/*",)), {Scope.REGISTER}, ""),
        (Reach(repositories=("octo",)), {Scope.REGISTER}, "not a pattern of a repository"),
        (Reach(hosts=("a b",)), {Scope.REPORT}, "not a pattern of a host"),
        (Reach(subjects=("a/b",)), {Scope.REPORT}, "not a pattern of a subject"),
        (Reach(hosts=("a",)), {Scope.ADMIN}, "has no limits"),
    ],
)
def test_limits_that_mean_nothing_are_refused(reach: Reach, scopes: set[Scope], objection: str) -> None:
    found = reach.explain_objection(scopes)
    assert (objection in found) if objection else not found


def test_a_repository_takes_the_subject_of_its_name_and_those_assigned_to_it() -> None:
    reach = find_reach_of_job("octo/copies", [("octo/copies", "bench-*")], None)
    assert may_own_subject("octo/copies", "Copies", reach.subjects)
    assert may_own_subject("octo/copies", "bench-sort", reach.subjects)
    assert not may_own_subject("octo/copies", "sorted", reach.subjects)
    assert may_own_subject("octo/copies", "copies", None), "a token from before there were limits"
    assert not may_own_subject("octo/copies", "sorted", None)


def test_a_name_that_is_assigned_to_another_repository_is_not_its_own() -> None:
    reach = find_reach_of_job("fork/copies", [("octo/copies", "copies")], ("lab-*",))
    assert not may_own_subject("fork/copies", "copies", reach.subjects)
    assert reach.hosts == ("lab-*",)
