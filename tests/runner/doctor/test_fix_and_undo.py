"""Mending and undoing, on made-up machines; pyperf's part is played."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from runner.cli import doctor
from runner.doctor.fix_and_undo import OWN_FIXES, FixReport, apply_fixes, get_undo_file, undo_fixes
from runner.doctor.probe import HostProbe, ProgramOutput, run_tool
from runner.errors import FaultwatchError
from runner.execution.own_command import build_installed_command
from runner.system.tree import Tree

RATE = "proc/sys/kernel/perf_event_max_sample_rate"
GOVERNOR = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
HELD = {
    "sys/kernel/mm/ksm/run": "1",
    "proc/sys/kernel/numa_balancing": "1",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "proc/sys/kernel/nmi_watchdog": "1",
    "proc/irq/7/smp_affinity": "3",
    RATE: "100000",
    GOVERNOR: "powersave",
}


class Machine:
    """A machine whose pyperf sets the governor and the rate, and says so."""

    def __init__(
        self, folder: Path, said: str = "Actions\n=======\n\nCPU scaling governor set\n\nSystem state\n"
    ) -> None:
        self.root = folder / "root"
        self.home = folder / "home"
        self.commands: list[str] = []
        self.said = said
        for name, text in HELD.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def read(self) -> dict[str, str]:
        return {name: (self.root / name).read_text() for name in HELD}

    def run(self, command: Sequence[str]) -> ProgramOutput:
        assert command[:5] == [sys.executable, "-P", "-m", "pyperf", "system"]
        self.commands.append(command[5])
        if command[5] == "tune":
            assert get_undo_file(self.host()).exists(), "nothing changes before it can be undone"
            self.write(GOVERNOR, "performance")
            self.write(RATE, "1")
        else:
            self.write(GOVERNOR, "ondemand")
        return ProgramOutput(0, self.said)

    def host(self, *, is_root: bool = True) -> HostProbe:
        return HostProbe(tree=Tree(self.root), home=self.home, is_root=is_root, run=self.run)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_everything_is_mended_and_told(machine: Machine) -> None:
    mending = apply_fixes(machine.host())
    assert mending.changed == {
        "sys/kernel/mm/ksm/run": ("1", "2"),
        "proc/sys/kernel/numa_balancing": ("1", "0"),
        "sys/kernel/mm/transparent_hugepage/enabled": ("always", "madvise"),
        "proc/sys/kernel/nmi_watchdog": ("1", "0"),
        GOVERNOR: ("powersave", "performance"),
    }
    assert (mending.failed, mending.needs_root) == ([], [])
    assert machine.read()[RATE] == "100000", "profiles need it"
    assert all(OWN_FIXES[name].check(machine.host()).status.value == "ok" for name in OWN_FIXES)


@pytest.mark.parametrize("times", [1, 2])
def test_undo_puts_back_exactly_what_was_there_however_often_it_was_mended(times: int, machine: Machine) -> None:
    for _ in range(times):
        apply_fixes(machine.host())
    mending = undo_fixes(machine.host())
    assert machine.read() == HELD | {"sys/kernel/mm/transparent_hugepage/enabled": "always"}
    assert mending.changed[GOVERNOR] == ("performance", "powersave")
    assert machine.commands == ["tune"] * times, "files are put back without pyperf's idea of usual values"
    with pytest.raises(FaultwatchError, match="nothing to undo"):
        undo_fixes(machine.host())


def test_what_only_pyperf_can_put_back_it_puts_back_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "Actions\n=======\n\nStop irqbalance service\n\nSystem state\n")
    apply_fixes(machine.host())
    undo_fixes(machine.host())
    assert machine.commands == ["tune", "reset"]
    assert machine.read()[GOVERNOR] == "powersave"


def test_a_warning_is_no_action(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "System state\n\nWarnings\n========\n\nTurbo Boost (MSR): Failed to read MSR 0x1a0\n")
    apply_fixes(machine.host())
    undo_fixes(machine.host())
    assert machine.commands == ["tune"]


def test_a_machine_in_order_is_left_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for name, good in (("sys/kernel/mm/ksm/run", "0"), ("proc/sys/kernel/numa_balancing", "0")):
        machine.write(name, good)
    changed = apply_fixes(machine.host()).changed
    assert "sys/kernel/mm/ksm/run" not in changed
    assert "proc/sys/kernel/numa_balancing" not in changed


def test_an_ordinary_user_changes_nothing_and_is_told(machine: Machine) -> None:
    mending = apply_fixes(machine.host(is_root=False))
    assert set(mending.needs_root) == {*OWN_FIXES, "governor"}
    assert machine.read() == HELD
    assert not machine.commands
    assert not machine.home.exists()
    apply_fixes(machine.host())
    with pytest.raises(FaultwatchError, match="only root"):
        undo_fixes(machine.host(is_root=False))


def test_what_cannot_be_written_down_is_not_changed(machine: Machine) -> None:
    machine.home.write_text("a file stands in the way")
    with pytest.raises(FaultwatchError, match="nothing was changed"):
        apply_fixes(machine.host())
    assert machine.read() == HELD


def test_a_setting_that_the_kernel_refuses_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def refuse(path: Path, *arguments: Any, **options: Any) -> int:
        if path.name == "numa_balancing":
            raise PermissionError(1, "Operation not permitted")
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", refuse)
    mending = apply_fixes(machine.host())
    assert mending.failed == ["/proc/sys/kernel/numa_balancing stays 1: Operation not permitted"]
    assert "proc/sys/kernel/nmi_watchdog" in mending.changed


@pytest.mark.parametrize(
    ("mending", "code", "said"),
    [
        (FixReport(changed={"a/b": ("1", "0")}), 0, "/a/b: 1 → 0"),
        (FixReport(), 0, "nothing"),
        (FixReport(failed=["/a/b stays 1"]), 1, "failed: /a/b stays 1"),
        (FixReport(needs_root=["huge pages"]), 1, "root can fix: huge pages"),
    ],
)
def test_the_command_says_what_was_done(
    mending: FixReport, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    play: Callable[[HostProbe], FixReport] = lambda _: mending  # noqa: E731
    monkeypatch.setattr("runner.doctor.fix_and_undo.apply_fixes", play)
    monkeypatch.setattr("runner.doctor.checks.run_checks", lambda _: iter(()))
    done = CliRunner().invoke(doctor.command, ["--fix"])
    assert done.exit_code == code
    assert said in done.stdout
    assert ("--undo" in done.stdout) == bool(mending.changed)
    document = json.loads(CliRunner().invoke(doctor.command, ["--fix", "--json"]).stdout)
    assert document["fix"]["needs_root"] == mending.needs_root


def test_undo_writes_only_what_a_fix_may_write(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    apply_fixes(machine.host())
    victim = tmp_path / "root" / "etc" / "cron.d"
    victim.mkdir(parents=True)
    for settings in ({"etc/cron.d/job": "x"}, {"../victim": "x"}, {GOVERNOR: "a\nb"}):
        get_undo_file(machine.host()).write_text(json.dumps({"settings": settings}))
        with pytest.raises(FaultwatchError, match="cannot be read"):
            undo_fixes(machine.host())
    assert not list(victim.iterdir())
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("damaged", ["", "{", "[]"])
def test_nothing_is_changed_if_what_to_undo_is_unreadable(damaged: str, machine: Machine) -> None:
    machine.home.mkdir()
    get_undo_file(machine.host()).write_text(damaged)
    with pytest.raises(FaultwatchError, match=r"nothing was changed.*doctor-undo.json cannot be read"):
        apply_fixes(machine.host())
    assert machine.read() == HELD


def test_what_pyperf_does_not_fix_has_failed(machine: Machine) -> None:
    def fail(_: Sequence[str]) -> ProgramOutput:
        return ProgramOutput(1, "No module named pyperf")

    mending = apply_fixes(replace(machine.host(), run=fail))
    assert mending.failed == ["governor: `pyperf system tune` did not fix it; run it as root to see its errors"]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_undo_refuses_a_file_that_another_user_wrote(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    apply_fixes(machine.host())
    os.chown(get_undo_file(machine.host()), 65534, 65534)
    for act in (undo_fixes, apply_fixes):
        with pytest.raises(FaultwatchError, match="was not written by this user"):
            act(machine.host())


def test_a_link_is_not_followed_to_what_it_would_overwrite(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.home.mkdir()
    victim = tmp_path / "shadow"
    victim.write_text("root:x")
    get_undo_file(machine.host()).with_suffix(".partial").symlink_to(victim)
    apply_fixes(machine.host())
    assert victim.read_text() == "root:x"
    undo_fixes(machine.host())


def test_pyperf_is_the_installed_one(tmp_path: Path) -> None:
    (tmp_path / "pyperf.py").write_text("print('planted')")
    for folder in (tmp_path, "/tmp"):
        done = subprocess.run(
            build_installed_command("pyperf", "--help"), cwd=folder, capture_output=True, text=True, check=False
        )
        assert "planted" not in done.stdout
    assert run_tool(["pwd"]).text.strip() == "/"


@pytest.mark.parametrize("answer", [KeyboardInterrupt(), ProgramOutput(-1, "Actions\n=======\n")])
def test_what_pyperf_changed_before_it_was_interrupted_is_put_back_by_it(
    answer: BaseException | ProgramOutput, machine: Machine
) -> None:
    def run(command: Sequence[str]) -> ProgramOutput:
        machine.run(command)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    with suppress(KeyboardInterrupt):
        apply_fixes(replace(machine.host(), run=run))
    undo_fixes(machine.host())
    assert machine.commands == ["tune", "reset"]
