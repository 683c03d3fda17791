"""What the runner believes of the messages of the launcher."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runner.execution.launcher import Launch, SimultaneousStart, resolve_program

GOOD = {"status": 256, "user": 2_000, "system": 1_000, "rss": 4, "end": 0, "faults": 150}


class Sender(Launch):
    """A launch, and the end of its channel that a launcher has."""

    def __init__(self) -> None:
        super().__init__(SimultaneousStart(1))
        self.end = os.dup(self.descriptors[0])

    def close(self) -> None:
        super().close()
        with suppress(OSError):
            os.close(self.end)


def send(launch: Sender, message: str) -> None:
    os.write(launch.end, message.encode())
    launch.serve(0)


@pytest.fixture
def launch() -> Iterator[Sender]:
    """A launch whose program has been started."""
    with Sender() as made:
        for _ in range(2):
            send(made, "ready 50")
        assert made.program == os.getpid()
        yield made


def ended(**changes: object) -> str:
    fields = GOOD | {"end": time.monotonic_ns()} | changes
    return f"ended {' '.join(map(str, fields.values()))}"


def test_the_account_of_a_program_begins_with_the_program(launch: Sender) -> None:
    send(launch, ended())
    assert launch.ending
    assert (launch.ending.status, launch.ending.faults, launch.ending.max_rss) == (1, 100, 4096)
    assert not launch.refusal


@pytest.mark.parametrize(
    "changes",
    [
        *({"status": number} for number in (2**62, 2**32, 0x10000, 0x137F, 0xFFFF, -1, "x", "1e3", "٣", "9" * 500)),
        *({name: number} for name in ("user", "system", "rss", "faults") for number in (-1, 2**63, "nan", "1_0", "")),
        {"end": 2**60},
        {"end": -5},
        {"faults": 49},
        {"faults": "150 7"},
    ],
)
def test_an_end_that_cannot_be_is_a_failure(launch: Sender, changes: dict[str, object]) -> None:
    send(launch, ended(**changes))
    assert launch.refusal == "the launcher sent a malformed message"
    assert launch.ending is None


def test_a_second_end_spoils_the_first(launch: Sender) -> None:
    send(launch, ended())
    send(launch, ended(faults=151))
    assert launch.refusal
    assert launch.ending is None


@pytest.mark.parametrize("message", ["ready", "ready -1", "ready x", "ready 1 2", f"ready {2**64}"])
def test_a_question_that_cannot_be_is_not_answered(message: str) -> None:
    with Sender() as launch:
        send(launch, message)
        assert launch.refusal
        assert launch.program is None


def test_a_program_that_is_stopped_as_it_is_ready_is_not_prepared() -> None:
    with Sender() as launch:
        send(launch, "ready 50")
        os.write(launch.end, b"ready 50")
        launch.finish()
        assert launch.program is None
        assert not launch.refusal


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_folder_of_the_path_that_may_not_be_searched_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o700)
    os.seteuid(65534)
    try:
        found = resolve_program("true", Path("/"), f"{tmp_path}/locked:/usr/bin")
    finally:
        os.seteuid(0)
    assert found == ("/usr/bin/true", "")


def test_a_program_that_was_not_found_may_not_be_installed_in_its_path(tmp_path: Path) -> None:
    path, reason = resolve_program("program", tmp_path, "/usr/bin:/bin")
    assert not path
    assert reason.endswith("or it may not be installed in the folders of PATH, /usr/bin:/bin")
    assert "PATH" not in resolve_program("./program", tmp_path, "/usr/bin:/bin")[1]


def test_an_empty_folder_of_the_path_is_the_current_one(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("")
    (tmp_path / "program").chmod(0o755)
    assert resolve_program("program", tmp_path, "/usr/bin:") == ("./program", "")
