"""What perf says of itself. The files are recorded from perf 6.1; the text of Ubuntu's wrapper is written by hand."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.doctor import counting
from runner.doctor.counting import CountingResult, get_counting_scope, require_measurable_host, try_counting
from runner.doctor.probe import NOT_EXECUTABLE_STATUS, NOT_FOUND_STATUS, HostProbe, ProgramOutput
from runner.errors import FaultwatchError
from runner.system.tree import Tree

RECORDED = Path(__file__).parent / "perf"
UBUNTU = """WARNING: perf not found for kernel 6.8.0-45

  You may need to install the following packages for this specific kernel:
    linux-tools-6.8.0-45-generic
"""


def tried(tmp_path: Path, text: str, status: int = 0, paranoid: str = "2", is_root: bool = False) -> CountingResult:
    kernel = tmp_path / "proc/sys/kernel"
    kernel.mkdir(parents=True)
    (kernel / "perf_event_paranoid").write_text(paranoid + "\n")
    (kernel / "osrelease").write_text("6.8.0-45-generic\n")
    return try_counting(
        HostProbe(tree=Tree(tmp_path), is_root=is_root, run=lambda command: ProgramOutput(status, text))
    )


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text()


def test_everything_is_counted(tmp_path: Path) -> None:
    assert tried(tmp_path, recorded("everything")) == CountingResult(scope="user+kernel")


def test_only_user_space_is_counted(tmp_path: Path) -> None:
    assert tried(tmp_path, recorded("user-only")) == CountingResult(scope="user")


def test_warnings_before_the_count_do_no_harm(tmp_path: Path) -> None:
    assert tried(tmp_path, "WARNING: something; of; no; import\n" + recorded("user-only")).scope == "user"


@pytest.mark.parametrize("level", ["3", "4"])
def test_paranoid_kernel(level: str, tmp_path: Path) -> None:
    found = tried(tmp_path, recorded("refused"), 255, paranoid=level)
    assert found.scope is None
    assert found.what == f"kernel.perf_event_paranoid is {level}: only root may count page faults"
    assert found.remedy == "sudo sysctl -w kernel.perf_event_paranoid=1"


@pytest.mark.parametrize("is_root", [True, False])
def test_container(is_root: bool, tmp_path: Path) -> None:
    found = tried(tmp_path, recorded("refused"), 255, paranoid="3" if is_root else "2", is_root=is_root)
    assert "does not allow" in found.what
    assert "--cap-add PERFMON" in found.remedy


def test_kernel_without_events(tmp_path: Path) -> None:
    assert "does not count page faults" in tried(tmp_path, recorded("not-supported")).what


def test_no_perf(tmp_path: Path) -> None:
    found = tried(tmp_path, "", NOT_FOUND_STATUS)
    assert found.cannot_start
    assert "linux-perf" in found.remedy


def test_perf_that_is_not_executable(tmp_path: Path) -> None:
    found = tried(tmp_path, "[Errno 13] Permission denied: 'perf'", NOT_EXECUTABLE_STATUS)
    assert found.cannot_start
    assert found.what == "perf cannot be executed: [Errno 13] Permission denied: 'perf'"
    assert "docker" not in found.remedy


def test_no_perf_for_this_kernel(tmp_path: Path) -> None:
    found = tried(tmp_path, UBUNTU, 2)
    assert found.cannot_start
    assert found.remedy == "sudo apt install linux-tools-generic"


@pytest.mark.parametrize(
    "text", ["", "Segmentation fault\nmore", ";;minor-faults;", "<not counted>;;minor-faults;0;0.00;;\n"]
)
def test_anything_else_is_quoted(text: str, tmp_path: Path) -> None:
    found = tried(tmp_path, text, 139)
    assert found.scope is None
    assert found.what.startswith("perf stat does not work on this host: ")
    assert "\n" not in found.what


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Forget what was found out about this machine; note what is tried."""
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> ProgramOutput:
        commands.append(command)
        return ProgramOutput(NOT_FOUND_STATUS, "")

    monkeypatch.setattr(counting, "HostProbe", lambda: HostProbe(run=run))
    counting._try_counting_here.cache_clear()
    yield commands
    counting._try_counting_here.cache_clear()


def test_one_clear_line_where_nothing_can_be_counted(here: list[Sequence[str]]) -> None:
    with pytest.raises(FaultwatchError, match="perf is not installed") as caught:
        require_measurable_host()
    assert "apt install linux-perf" in caught.value.remedy


def test_tried_once(here: list[Sequence[str]]) -> None:
    for _ in range(2):
        with pytest.raises(FaultwatchError):
            get_counting_scope()
    assert len(here) == 1


@pytest.mark.perf
def test_this_machine_can_count() -> None:
    require_measurable_host()
    assert get_counting_scope() in {"user", "user+kernel"}
