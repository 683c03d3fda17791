"""The limits of a token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.access.scope import Scope
from service.rules.access.token_limits import (
    NO_LIMITS,
    TokenLimits,
    matches_any_pattern,
)

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
    assert matches_any_pattern(name, patterns) is fits


@given(_NAMES, _NAMES)
def test_a_star_spans_no_slash(name: str, pattern: str) -> None:
    if matches_any_pattern(name, (pattern,)):
        assert name.count("/") == pattern.count("/")


@pytest.mark.parametrize(
    ("limits", "scopes", "objection"),
    [
        (NO_LIMITS, {Scope.REPORT}, ""),
        (NO_LIMITS, {Scope.ADMIN}, ""),
        (NO_LIMITS, {Scope.REGISTER}, "must name its repositories"),
        (TokenLimits(repositories=("octo/*",)), {Scope.REGISTER}, ""),
        (TokenLimits(repositories=("octo",)), {Scope.REGISTER}, "not a valid pattern for a repository"),
        (TokenLimits(hosts=("a b",)), {Scope.REPORT}, "not a valid pattern for a host"),
        (TokenLimits(subjects=("a/b",)), {Scope.REPORT}, "not a valid pattern for a subject"),
        (TokenLimits(hosts=("a",)), {Scope.ADMIN}, "cannot have limits"),
    ],
)
def test_limits_that_mean_nothing_are_refused(limits: TokenLimits, scopes: set[Scope], objection: str) -> None:
    found = limits.explain_objection(scopes)
    assert (objection in found) if objection else not found
