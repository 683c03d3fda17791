"""What a session takes from its host."""

from pathlib import Path

import pytest

from runner.contract.report import Environment
from runner.environment import capture as capturing
from runner.measuring import preflight
from runner.settings import load_settings


@pytest.mark.perf
@pytest.mark.parametrize("knob", ["kernel.architecture", "cpu.model", "cpu.features", "libc.version"])
def test_another_machine_makes_other_builds(knob: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    here = preflight.prepare(load_settings(), examined=False).builder.machine

    def other(**more: object) -> Environment:
        found = capturing.capture(**more)  # type: ignore[arg-type]
        return found.model_copy(update={"knobs": {**found.knobs, knob: "another"}})

    monkeypatch.setattr(preflight, "capture", other)
    there = preflight.prepare(load_settings(), examined=False).builder.machine
    assert {name for name in here | there if here.get(name) != there.get(name)} == {knob}
