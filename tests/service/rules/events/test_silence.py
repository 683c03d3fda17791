from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.silence import SilencePattern, make_literal_pattern, matches_pattern, read_literal_pattern

NOW = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        ("copy[mib=4]", "copy[mib=4]", True),
        ("copy[*]", "copy[mib=4]", True),
        ("copy*", "copy[mib=4]", True),
        ("*mib=4*", "copy[mib=4,operations=2]", True),
        ("copy[mib=4]", "copym", False),
        ("copy", "copy[mib=4]", False),
        ("c.py*", "copy[mib=4]", False),
        ("*-faults", "minor-faults", True),
        (r"sort[files=\*.txt]", "sort[files=*.txt]", True),
        (r"sort[files=\*.txt]", "sort[files=one.txt]", False),
        (r"sort[files=\**]", "sort[files=*.txt]", True),
        (r"sort[files=\**]", "sort[files=one.txt]", False),
    ],
)
def test_a_pattern_matches_the_whole_name_and_only_the_star_is_special(pattern: str, name: str, covered: bool) -> None:
    assert matches_pattern(pattern, name) is covered


texts = st.text(alphabet="ab[*]?.", max_size=8)


@given(texts)
def test_a_literal_pattern_is_read_back(name: str) -> None:
    assert read_literal_pattern(make_literal_pattern(name)) == name


@pytest.mark.parametrize("pattern", ["*", "copy*", r"sort[files=\**]"])
def test_a_pattern_with_a_star_names_nothing(pattern: str) -> None:
    assert read_literal_pattern(pattern) is None


@given(texts, texts)
def test_patterns_match_as_a_plain_translation_does(pattern: str, name: str) -> None:
    plain = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert matches_pattern(pattern, name) == bool(re.fullmatch(plain, name, re.DOTALL))


@given(*[st.text(alphabet="a*\\", max_size=6)] * 2)
def test_a_literal_pattern_matches_only_its_name(name: str, other: str) -> None:
    assert matches_pattern(make_literal_pattern(name), name)
    assert matches_pattern(make_literal_pattern(name), other) == (other == name)


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not matches_pattern("*a" * 200, "a" * 199 + "b")


def test_a_silence_ends_at_its_time() -> None:
    silence = SilencePattern("*", "*", "copy*", "*", NOW)
    place = ("demo", "box", "copy[mib=4]", "minor-faults")
    assert silence.covers(*place, NOW - timedelta(seconds=1))
    assert not silence.covers(*place, NOW)
    assert not silence.covers("demo", "box", "scan", "minor-faults", NOW - timedelta(seconds=1))
