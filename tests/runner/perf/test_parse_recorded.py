"""What the parser makes of real outputs of ten versions of perf, and of damaged ones."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.contract.report import Status
from runner.perf.parse import PerfOutputError
from tests.runner.perf.mutation import CLOCKS, MUTATIONS, Columns, columns, describe, fate, readable, requested_of
from tests.runner.perf.recordings import Output, outputs

REFUSED = {
    "repeat": "mean",
    "interval": "interval|not a perf stat report",
    "per-cpu": "one CPU|of a whole machine",
    "kernel": "only in the kernel",
    "append": "second run",
}


def why_refused(output: Output) -> str:
    """Return the reason that the parser has to give, as a pattern; empty for one whole run."""
    if output.text.startswith("Warning:") and output.format != "text":
        return "not an event|not a JSON object"  # perf 7.3 writes warnings among its rows
    return next((why for kind, why in REFUSED.items() if output.name.endswith(f"-{kind}")), "")


WHOLE = tuple(output for output in outputs() if not why_refused(output))


def by_name(output: Output) -> str:
    return output.name


def test_every_version_is_here():
    versions = {
        match[0] for output in outputs() if (match := re.search(r"perf version [0-9]+\.[0-9]+", output.made_by))
    }

    assert len(versions) == 10


def test_what_can_be_read_is_what_should_be():
    assert tuple(readable(outputs())) == WHOLE


@pytest.mark.parametrize("output", WHOLE, ids=by_name)
def test_readings_are_the_numbers_that_stand_there(output):
    readings = output.parse(requested_events=requested_of(output)).readings
    rows = [found for line in output.text.split("\n") if (found := columns(line, output))]

    assert rows
    for row in rows:
        if output.name.startswith("written/") and "/" in row.event:
            continue  # several rows make one reading: tested one by one
        if any(other.metric == row.metric and other is not row for other in rows):
            continue  # a clock as an event and at the end: likewise
        reading = readings[row.metric]
        if row.count in {"<not counted>", "<not supported>"}:
            assert reading.status.value == row.count.strip("<>").replace(" ", "_")
            assert reading.reason
        elif _is_unread_clock(row):
            assert reading.status is Status.NOT_COUNTED
        else:
            assert reading.value == row.value
            assert type(reading.value) is (float if row.metric in CLOCKS else int)


def _is_unread_clock(row: Columns) -> bool:
    """Whether this is perf 7.2 and 7.3, which show their own clocks as 0, without a unit."""
    return row.event in {"duration_time", "user_time", "system_time"} and not row.unit and row.value == 0


@pytest.mark.parametrize("output", WHOLE, ids=by_name)
def test_faults_of_a_user_are_told_from_all_faults(output):
    result = output.parse()
    user_only = {"minor-faults", "page-faults", "context-switches", "cpu-migrations", "instructions"}

    assert bool(result.in_user_space & user_only) == result.user_only == bool(re.search("[:/]u", output.text))
    assert not result.in_user_space & CLOCKS


@pytest.mark.parametrize("output", [output for output in outputs() if output not in WHOLE], ids=by_name)
def test_refuses_what_is_not_one_run_of_the_program(output):
    with pytest.raises(PerfOutputError, match=why_refused(output)):
        output.parse()


@pytest.mark.parametrize("output", WHOLE, ids=by_name)
@pytest.mark.parametrize("with_requested", [False, True])
def test_every_line_that_is_lost_is_missed_if_it_is_known_what_was_requested(output, with_requested):
    requested = requested_of(output) if with_requested else ()
    lines = output.text.split("\n")

    for at in range(len(lines)):
        _, problem = fate(output, "\n".join(lines[:at] + lines[at + 1 :]), requested)
        assert not problem


@settings(max_examples=400)
@given(
    output=st.sampled_from(WHOLE),
    mutation=st.sampled_from(sorted(MUTATIONS)),
    seed=st.integers(0, 2**32),
    with_requested=st.booleans(),
)
def test_damage_is_never_read_as_another_number(output, mutation, seed, with_requested):
    damaged = MUTATIONS[mutation](output.text, random.Random(seed))
    requested = requested_of(output) if with_requested else ()

    _, problem = fate(output, damaged, requested)
    assert not problem, describe(output, damaged)


@settings(max_examples=200)
@given(output=st.sampled_from(WHOLE), text=st.text())
def test_any_text_is_read_or_refused(output, text):
    try:
        output.parse(text)
    except PerfOutputError:
        return
