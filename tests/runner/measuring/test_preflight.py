"""What a session takes from its host."""

from pathlib import Path

import pytest

from runner.contract.report import Environment
from runner.environment import capture as capturing
from runner.errors import FaultwatchError
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


def test_a_home_that_allows_no_programs_is_no_failure_of_a_revision(
    noexec_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(noexec_folder / "home"))
    with pytest.raises(FaultwatchError, match=r"/home/builds is on a file system that allows no programs \(noexec\)"):
        preflight.prepare(load_settings())
    assert not (noexec_folder / "home").exists()
