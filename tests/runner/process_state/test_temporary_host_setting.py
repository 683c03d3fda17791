"""A setting of the host: held at a value, and back at the old one whatever happens to who held it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.process_state import temporary_host_setting
from runner.process_state.temporary_host_setting import HostSetting
from runner.system.tree import Tree

HOLDER = """
import sys, time
from pathlib import Path
from runner.system.tree import Tree
from runner.process_state.temporary_host_setting import HostSetting
HostSetting("enabled", Tree(Path(sys.argv[1]))).hold("always")
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    return tmp_path / "enabled"


def setting(file: Path) -> HostSetting:
    return HostSetting(file.name, Tree(file.parent))


def test_it_is_changed_and_put_back(file: Path) -> None:
    held = setting(file)
    held.hold("always")
    assert held.read_value() == "always"
    held.restore()
    assert held.read_value() == "madvise"


def test_what_is_right_already_is_left(file: Path) -> None:
    text = file.read_text()
    one, other = setting(file), setting(file)
    one.hold("madvise")
    other.hold("madvise")
    one.restore()
    other.restore()
    assert file.read_text() == text


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_two_servers_of_a_session_change_it_together(
    file: Path, first_to_end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary_host_setting, "MAX_WAIT_SECONDS", 0.1)
    holds = [setting(file), setting(file)]
    for hold in holds:
        hold.hold("always")
    holds.pop(first_to_end).restore()
    assert file.read_text() == "always"
    holds.pop().restore()
    assert file.read_text() == "madvise"


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_is_put_back_after_the_runner_was_killed(end: int, file: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(file.parent)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        assert file.read_text() == "always"
        holder.send_signal(end)
    # The next one who wants it waits for the guard, and finds what was there.
    held = setting(file)
    held.hold("madvise")
    assert file.read_text() == "madvise"
    held.restore()


def test_two_sessions_that_want_different_values_do_not_meet(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_host_setting, "MAX_WAIT_SECONDS", 0.1)
    one, other = setting(file), setting(file)
    one.hold("always")
    with pytest.raises(FaultwatchError, match="another session is using a different value of /enabled"):
        other.hold("never")
    assert one.read_value() == "always"
    one.restore()
    other.hold("never")
    assert one.read_value() == "never"
    other.restore()
    assert one.read_value() == "madvise"


def test_what_may_not_be_written_is_an_os_error_and_locks_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_host_setting.os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        setting(file).hold("always")
    monkeypatch.undo()
    began = time.monotonic()
    held = setting(file)
    held.hold("never")
    held.restore()
    assert time.monotonic() - began < temporary_host_setting.MAX_WAIT_SECONDS / 2


def test_a_host_without_it_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        setting(tmp_path / "nothing").hold("always")
