"""A few hundred inputs at each door; ``make fuzz-doors`` sends a million."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz import door
from tests.fuzz.mutation import mutated_bytes, mutated_json

FEW = {"report": 30, "profile": 20, "webhook": 30, "sign_in": 50}
"""Each of these takes milliseconds."""


@pytest.mark.parametrize("name", door.names())
def test_no_input_breaks_a_door(name: str, tmp_path: Path) -> None:
    result = door.fuzz(name, tmp_path, FEW.get(name, 150), seed=1)
    assert not [miss for miss in result.misses if " took " not in miss and "MiB of memory" not in miss]
    assert len(result.fates) > 1, "the same becomes of every input: the mutations do not reach far enough"


def test_the_inputs_are_divided_by_cost_and_none_is_lost() -> None:
    shares = door.shares(1_000_003, door.names())
    assert sum(shares.values()) == 1_000_003
    assert min(shares.values()) > 0


def test_the_same_seed_makes_the_same_input() -> None:
    document = {"a": [1, 2, {"b": "text"}], "c": None}
    assert mutated_json(document, Random("1")) == mutated_json(document, Random("1"))
    assert mutated_bytes(b"some bytes", Random("1")) == mutated_bytes(b"some bytes", Random("1"))
    assert document == {"a": [1, 2, {"b": "text"}], "c": None}
