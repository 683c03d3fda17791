"""What is read from the output of the program that follows a command."""

from hypothesis import given
from hypothesis import strategies as st

from runner.dependencies.recorded_lookups import parse_lookups


def output(*lines: str, objection: str = "") -> bytes:
    return b"".join(f"{line}\0".encode(errors="surrogateescape") for line in (objection, *lines, "."))


def test_questions_what_was_made_and_what_was_changed_are_distinguished() -> None:
    lookups = parse_lookups(
        output("c /tree/a b", "s /tree", "n /tree/new", "m /tree/new", "c /proc/self/maps", "m /dev/null")
    )
    assert lookups.entries == {("c", "/tree/a b"), ("s", "/tree"), ("l", "/tree/new")}
    assert lookups.made_paths == {"/tree/new"}
    assert lookups.objection == ""


def test_a_file_that_is_reached_through_a_folder_of_the_kernel_is_not_forgotten() -> None:
    lookups = parse_lookups(output("c /dev/../tree/a", "m /proc/../tree/state", "c /sys/class/../kernel/x"))
    assert lookups.entries == {("c", "/tree/a")}
    assert "/tree/state" in lookups.objection


def test_what_changes_a_file_that_was_there_before_may_be_answered_differently_the_next_time() -> None:
    lookups = parse_lookups(output("m /tree/state", "n /tree/new"))
    assert lookups.untraced_reason == ""
    assert "/tree/state" in lookups.objection


def test_what_was_made_by_one_execution_is_no_change_of_another() -> None:
    first, second = parse_lookups(output("n /tree/cache")), parse_lookups(output("m /tree/cache", "c /tree/cache"))
    assert first.combine(second).objection == ""


def test_a_path_in_too_many_folders_is_not_followed() -> None:
    assert parse_lookups(output("c " + "/a" * 300)).objection


@given(st.binary())
def test_an_output_without_its_end_says_nothing(data: bytes) -> None:
    lookups = parse_lookups(data.removesuffix(b".\0"))
    assert lookups.entries == frozenset() or lookups.untraced_reason == ""
    assert not data.endswith(b"\0.\0") or parse_lookups(data[:-3]).untraced_reason
