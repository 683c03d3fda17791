"""How a proposal is written as a workload file."""

import tomllib

import pytest

from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.workload_text import render_workload
from runner.workload import Workload


@pytest.mark.parametrize("command", ["", "make"])
def test_a_clone_without_its_submodules_is_allowed_even_if_nothing_is_built(command: str) -> None:
    text = render_workload("x", BuildProposal("Node.js", command, incomplete=True), RunProposal("./x"))
    workload = Workload.model_validate(tomllib.loads(text))
    assert workload.build.incomplete


def test_a_build_of_nothing_has_no_table() -> None:
    assert "[build" not in render_workload("x", BuildProposal("Node.js", ""), RunProposal("./x"))
