from __future__ import annotations

import subprocess
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.series.commit_name_syntax import MAX_STEPS, follow_steps, parse_revision, parse_time_or_day


@pytest.mark.parametrize(
    ("text", "name", "steps"),
    [
        ("v5.4.6", "v5.4.6", ()),
        ("main~3", "main", (1, 1, 1)),
        ("main^", "main", (1,)),
        ("feature/a-b^2~2", "feature/a-b", (2, 1, 1)),
        ("main~0^0", "main", ()),
        ("~2", "", (1, 1)),
        ("main~1234567~2", "main~1234567", (1, 1)),
        ("main~^~", "main", (1, 1, 1)),
    ],
)
def test_a_text_is_read_as_git_reads_it(text: str, name: str, steps: tuple[int, ...]) -> None:
    assert (parse_revision(text).name, parse_revision(text).steps) == (name, steps)


def test_steps_lead_where_git_says(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    for number in range(3):
        git("commit", "-q", "--allow-empty", "-m", str(number))
    git("checkout", "-q", "-b", "side", "HEAD~1")
    git("commit", "-q", "--allow-empty", "-m", "side")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    parents = {line.split()[0]: line.split()[1:] for line in git("log", "--format=%H %P").splitlines()}
    for text in ("main", "main~1", "main^2", "main^2~1", "main~2", "main^2^1^1", "main~1^1"):
        assert follow_steps(parents, git("rev-parse", "main"), parse_revision(text).steps) == git("rev-parse", text)
    assert follow_steps(parents, git("rev-parse", "main"), parse_revision("main~9").steps) is None
    assert follow_steps(parents, git("rev-parse", "main"), parse_revision("main^3").steps) is None


@given(
    st.text(st.characters(exclude_characters="~^"), max_size=30).map(str.strip),
    st.lists(st.sampled_from(["~", "^", "~2", "^2", "~0"]), max_size=4),
)
def test_what_is_no_step_is_the_name(name: str, steps: list[str]) -> None:
    asked = parse_revision(name + "".join(steps))
    assert asked.name == name
    assert len(asked.steps) == sum({"~2": 2, "~0": 0}.get(step, 1) for step in steps)


def test_a_day_lasts_until_its_end() -> None:
    assert parse_time_or_day("2026-11-20") == datetime(2026, 11, 21, tzinfo=UTC)
    assert parse_time_or_day("2026-11-20T10:00") == datetime(2026, 11, 20, 10, tzinfo=UTC)
    for text in ("2026", "main", "20261120", "2026-13-40", ""):
        assert parse_time_or_day(text) is None


@given(st.text(max_size=20))
def test_any_text_is_a_time_or_none(text: str) -> None:
    moment = parse_time_or_day(text)
    assert moment is None or moment.tzinfo is UTC


@pytest.mark.timeout(20)
def test_a_hostile_text_costs_neither_time_nor_memory() -> None:
    text = "~" * 50_000 + "x"
    assert parse_revision(text).name == text
    tracemalloc.start()
    assert len(parse_revision("~999999" * 200).steps) == MAX_STEPS
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * 8 * MAX_STEPS


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31"])
def test_a_time_outside_of_the_calendar_names_no_commit(text: str) -> None:
    assert parse_time_or_day(text) is None
