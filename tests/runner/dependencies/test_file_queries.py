"""What is read from the output of the program that follows a command."""

from hypothesis import given
from hypothesis import strategies as st

from runner.dependencies.file_queries import parse_asked


def output(*lines: str, objection: str = "") -> bytes:
    return b"".join(f"{line}\0".encode(errors="surrogateescape") for line in (objection, *lines, "."))


def test_questions_what_was_made_and_what_was_changed_are_distinguished() -> None:
    asked = parse_asked(
        output("c /tree/a b", "s /tree", "n /tree/new", "m /tree/new", "c /proc/self/maps", "m /dev/null")
    )
    assert asked.questions == {("c", "/tree/a b"), ("s", "/tree"), ("l", "/tree/new")}
    assert asked.made == {"/tree/new"}
    assert asked.objection == ""


def test_what_changes_a_file_that_was_there_before_may_be_answered_differently_the_next_time() -> None:
    asked = parse_asked(output("m /tree/state", "n /tree/new"))
    assert asked.unfollowed == ""
    assert "/tree/state" in asked.objection


def test_what_was_made_by_one_execution_is_no_change_of_another() -> None:
    first, second = parse_asked(output("n /tree/cache")), parse_asked(output("m /tree/cache", "c /tree/cache"))
    assert first.combine(second).objection == ""


def test_a_path_in_too_many_folders_is_not_followed() -> None:
    assert parse_asked(output("c " + "/a" * 300)).objection


@given(st.binary())
def test_an_output_without_its_end_says_nothing(data: bytes) -> None:
    asked = parse_asked(data.removesuffix(b".\0"))
    assert asked.questions == frozenset() or asked.unfollowed == ""
    assert not data.endswith(b"\0.\0") or parse_asked(data[:-3]).unfollowed
