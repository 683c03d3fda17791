"""What a command says while it works: how far it is, and how long the rest takes."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.cli.activity import Activity, format_time_left, format_time_spent, show_activity, write_lines


class Clock:
    """A clock that only goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("left", "said"),
    [(0.0, ""), (4.0, ""), (37.0, "about 40 s left"), (406.0, "about 7 min left"), (9900.0, "about 2.8 h left")],
)
def test_time_left(left: float, said: str) -> None:
    assert format_time_left(left) == said


def test_what_came_before_the_first_step_says_nothing_about_the_rest() -> None:
    clock = Clock()
    shown = Activity("building", clock)
    clock.now += 600
    assert (shown.format_line(), shown.time_left) == ("building, 10 min 0 s", "")
    shown("measuring")
    shown.set_remaining_steps(10)
    assert shown.time_left == "", "nothing is known before the first step has ended"
    clock.now += 20
    shown.advance()
    assert shown.format_line() == "measuring, 1 of 10 steps, 10 min 20 s, about 3 min left"


def test_a_decision_changes_how_many_steps_are_ahead() -> None:
    clock = Clock()
    shown = Activity("comparing", clock)
    shown.set_remaining_steps(2)
    for _ in range(2):
        clock.now += 30
        shown.advance()
    assert (shown.total, shown.time_left) == (2, "")
    shown.set_remaining_steps(4)
    assert (shown.total, shown.time_left) == (6, "about 2 min left")


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("set_remaining_steps"), st.integers(-5, 50)), st.tuples(st.just("advance"), st.just(1))
        )
    )
)
def test_there_are_never_more_steps_done_than_there_are(calls: list[tuple[str, int]]) -> None:
    shown = Activity("x", Clock())
    for name, number in calls:
        getattr(shown, name)(number)
        assert shown.total is None or shown.total >= shown.done


def test_a_duration_is_short() -> None:
    assert [format_time_spent(seconds) for seconds in (0.4, 59.9, 60, 3725)] == [
        "0 s",
        "59 s",
        "1 min 0 s",
        "62 min 5 s",
    ]


def test_a_log_gets_lines_that_end_with_the_activity() -> None:
    said: list[str] = []
    enough = threading.Event()

    def write(line: str) -> None:
        said.append(line)
        enough.set()

    with write_lines(Activity("building"), 0.001, write):
        assert enough.wait(60)
    number = len(said)
    assert said[0].startswith("building, ")
    assert "activity" not in {thread.name for thread in threading.enumerate()}
    assert len(said) == number


def test_a_short_activity_leaves_nothing_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with show_activity("measuring") as shown:
        shown.set_remaining_steps(3)
        shown.advance()
    assert capsys.readouterr() == ("", "")
