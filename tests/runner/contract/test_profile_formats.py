"""A profile's stacks in the formats of other tools."""

import gzip
import json
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runner.contract.profile import Frame, Profile, Stack, StackKind, StackProfile
from runner.contract.profile_formats import UNITS, format_folded_stacks, format_speedscope, format_stacks
from runner.contract.report import Case, Environment, Host, Revision

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def made(names: list[str], stacks: list[tuple[tuple[int, ...], int]]) -> tuple[Profile, StackProfile]:
    faults = StackProfile(
        kind=StackKind.FAULTS,
        samples=len(stacks),
        period=1,
        total=sum(weight for _, weight in stacks),
        call_graph="fp",
        stacks=tuple(Stack(frames=frames, weight=weight) for frames, weight in stacks),
    )
    profile = Profile(
        profile_id=uuid.uuid4(),
        subject="subject",
        revision=Revision(commit="a" * 40, committed_at=NOW),
        case=Case(workload="w", definition="0" * 16),
        host=Host(name="host"),
        environment=Environment(settings={}),
        runner_version="0",
        started_at=NOW,
        finished_at=NOW,
        scope="process",
        readings={},
        frames=tuple(Frame(function=name, module="/bin/a", file="/srv/a.c", line=7) for name in names),
        faults=faults,
    )
    return profile, faults


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """Read a protocol buffer as its specification says."""
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if key & 7 == 2:
            found.append((key >> 3, data[at : at + value]))
            at += value
        else:
            assert key & 7 == 0
            found.append((key >> 3, value))
    return found


def test_folded_stacks_run_from_main_and_end_in_their_weight() -> None:
    profile, faults = made(["main", "copy"], [((0, 1), 30), ((0,), 2)])
    assert format_folded_stacks(profile, faults) == b"main 2\nmain;copy 30\n"


def test_a_name_cannot_split_a_folded_stack_or_add_a_line() -> None:
    profile, faults = made(["a;b\nmain 99"], [((0,), 1)])
    assert format_folded_stacks(profile, faults).count(b"\n") == 1
    assert b";" not in format_folded_stacks(profile, faults)


def test_speedscope_has_frames_with_lines_and_weights() -> None:
    document = json.loads(format_speedscope(*made(["main", "copy"], [((0, 1), 30)])))
    assert document["shared"]["frames"][1] == {"name": "copy", "file": "/srv/a.c", "line": 7}
    assert document["profiles"][0]["samples"] == [[0, 1]]
    assert document["profiles"][0]["weights"] == [30]
    assert document["profiles"][0]["endValue"] == 30


@given(
    st.lists(st.text(min_size=1, max_size=10), min_size=1, max_size=5, unique=True),
    st.lists(st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(1, 2**40)), max_size=5),
)
def test_pprof_is_read_back_as_it_was_written(names: list[str], rows: list[tuple[list[int], int]]) -> None:
    stacks = [(tuple(place % len(names) for place in places), weight) for places, weight in rows]
    profile, faults = made(names, stacks)
    found = fields(gzip.decompress(format_stacks(profile, faults, "pprof")))
    texts = [value.decode() for field, value in found if field == 6 and isinstance(value, bytes)]
    assert texts[0] == ""
    functions = {dict(fields(value))[1]: texts[dict(fields(value))[2]] for field, value in found if field == 5}
    locations = {
        dict(fields(value))[1]: functions[dict(fields(dict(fields(value))[4]))[1]]
        for field, value in found
        if field == 4
    }
    read = []
    for field, value in found:
        if field != 2:
            continue
        sample = dict(fields(value))
        places, at = [], 0
        while at < len(sample[1]):
            number, at = read_varint(sample[1], at)
            places.append(locations[number])
        read.append((places[::-1], read_varint(sample[2], 0)[0]))
    assert read == [([names[place] for place in places], weight) for places, weight in stacks]


def test_the_same_profile_is_the_same_file() -> None:
    profile, faults = made(["main"], [((0,), 1)])
    assert format_stacks(profile, faults, "pprof") == format_stacks(profile, faults, "pprof")


def test_every_kind_has_a_unit() -> None:
    assert set(UNITS) == set(StackKind)


def test_weights_that_do_not_come_to_the_total_are_refused() -> None:
    with pytest.raises(ValidationError, match="do not add up to their total"):
        StackProfile(
            kind=StackKind.FAULTS, samples=1, period=1, total=9, call_graph="fp", stacks=(Stack(frames=(0,), weight=8),)
        )


def test_a_stack_needs_its_frames() -> None:
    with pytest.raises(ValidationError, match="not in the table"):
        made(["main"], [((0, 1), 1)])
