"""perf script reads what strangers built: it is bounded in time."""

from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.profile import recording_reader
from runner.profile.recording_reader import ADDRESS_FIELDS, read_events
from runner.profile.script_parser import Lost


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "recording"
    file.write_bytes(b"no recording")
    return file


def test_a_reader_that_hangs_is_ended(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_reader, "MAX_SECONDS", 0.2)
    with pytest.raises(FaultwatchError, match=r"did not finish within 0\.2 s"):
        list(read_events(recording, *ADDRESS_FIELDS, sandbox_prefix=("sh", "-c", "exec sleep 30")))


def test_a_file_that_perf_cannot_read_is_one_line(recording: Path) -> None:
    with pytest.raises(
        FaultwatchError, match=r"^perf script failed: [^\n]+ \(try again; if it fails again, please report"
    ):
        list(read_events(recording, *ADDRESS_FIELDS))


@pytest.mark.parametrize(
    ("end", "reason", "remedy"),
    [
        ("echo out of memory >&2; exit 1", "perf script failed: out of memory", "try again"),
        ("exec sleep 30", "did not finish", "record fewer faults"),
    ],
)
def test_why_a_reader_ended_within_a_line_is_said(
    end: str, reason: str, remedy: str, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_reader, "MAX_SECONDS", 0.2)
    script = f"printf '1/1 2.5: PERF_RECORD_LOST lost 1\\n1/1 2.6'; {end}"
    events = read_events(recording, *ADDRESS_FIELDS, sandbox_prefix=("sh", "-c", script))
    assert next(events) == Lost(1)
    with pytest.raises(FaultwatchError, match=reason) as error:
        next(events)
    assert error.value.remedy.startswith(remedy)
