"""WORKLOAD and RANGE: told apart wherever they stand, in the old spellings too."""

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from runner.cli.arguments import (
    Duration,
    Target,
    add_workload_and_range,
    add_workload_argument,
    is_range,
    parse_range,
    parse_target,
)
from runner.errors import FaultwatchError

NAMES = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9_/-]{0,10}", fullmatch=True)
PATHS = st.lists(st.sampled_from(["..", ".", "a", "b.c"]), min_size=1, max_size=5).map("/".join)


@pytest.mark.parametrize("word", ["v1..v2", "HEAD~3..", "..main", "origin/main..feature/x", "a...b", "v1.0..v1.1"])
def test_ranges(word: str) -> None:
    assert is_range(word)


@pytest.mark.parametrize("word", ["..", "../parser", "../../x/workload.toml", "a/..", "a/../b", "v1.0", "parser", "."])
def test_paths_and_names_are_no_ranges(word: str) -> None:
    assert not is_range(word)


@given(PATHS)
def test_no_path_of_folders_is_a_range(word: str) -> None:
    assert not is_range(word)


@given(NAMES, NAMES)
def test_a_range_has_the_ends_that_it_names(first: str, last: str) -> None:
    assert is_range(f"{first}..{last}")
    assert parse_range(f"{first}..{last}") == parse_range(f"{first}...{last}") == (first, last)
    assert parse_range(f"{first}..") == (first, "HEAD")


@pytest.mark.parametrize("commit_range", ["..", "...", "", "..HEAD", "HEAD", "a..b..c"])
def test_a_range_without_its_first_end_is_refused(commit_range: str) -> None:
    """In a CI job whose variable is empty, HEAD would be compared with itself, and always be the same."""
    with pytest.raises(FaultwatchError, match="does not have the form"):
        parse_range(commit_range)


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ([], Target(None, None)),
        (["parser"], Target("parser", None)),
        (["a..b"], Target(None, "a..b")),
        (["../parser", "a..b"], Target("../parser", "a..b")),
    ],
)
def test_arguments_are_told_apart(words: list[str], target: Target) -> None:
    assert parse_target(words) == target


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a..b", "parser"], "WORKLOAD comes before RANGE"),
        (["a..b", "c..d"], "'a..b' and 'c..d' are both ranges"),
        (["parser", "main"], "'main' is not a commit range"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(FaultwatchError, match=said):
        parse_target(words)


def test_one_commit_is_taken_where_it_may_stand_for_the_range_and_else_the_message_has_a_range_of_it() -> None:
    assert parse_target(["parser", "HEAD"], may_be_commit=True) == Target("parser", "HEAD")
    assert parse_target(["parser", "a..b"], may_be_commit=True) == Target("parser", "a..b")
    with pytest.raises(FaultwatchError) as error:
        parse_target(["parser", "v2"])
    assert "v2~10..v2" in (error.value.remedy or "")


@click.command()
@add_workload_and_range(required=True)
def pair(workload_name: str | None, commit_range: str) -> None:
    click.echo(f"{workload_name} {commit_range}")


@click.command()
@add_workload_and_range()
def history(workload_name: str | None, commit_range: str | None) -> None:
    click.echo(f"{workload_name} {commit_range}")


@click.command()
@add_workload_argument
def one(workload_name: str | None) -> None:
    click.echo(f"{workload_name}")


@pytest.mark.parametrize(
    ("command", "words", "output"),
    [(pair, "w a..b", "w a..b"), (pair, "a..b", "None a..b"), (history, "", "None None"), (one, "w", "w")],
)
def test_what_is_left_out_is_none(command: click.Command, words: str, output: str) -> None:
    done = CliRunner().invoke(command, words.split())
    assert (done.exit_code, done.stdout.strip(), done.stderr) == (0, output, "")


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        (pair, "", "Missing argument 'RANGE'"),
        (one, "a..b", "this command accepts only one commit"),
        (pair, "a b", "'b' is not a commit range"),
    ],
)
def test_a_mistake_is_said(command: click.Command, words: str, said: str) -> None:
    done = CliRunner().invoke(command, words.split())
    assert done.exit_code
    assert said in done.output + str(done.exception)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1.5m", 90), ("2h", 7200), ("0s", 0)])
def test_a_duration_is_in_seconds(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "h", "-1", "1d", "9" * 400, "9" * 20 + "h", "\N{SUPERSCRIPT TWO}s"])
def test_a_duration_that_no_command_can_wait_for_is_refused(text: str) -> None:
    with pytest.raises(
        click.BadParameter, match=r"is not a duration: write|is too long: at most 1,000,000,000 seconds are allowed"
    ):
        Duration().convert(text, None, None)
