"""Other change-point detectors on the same series, where ``make peers`` has installed them.

They need a different version of numpy than the service, so they run in their own process and environment.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-bench" / "bin" / "python"

Detector = Callable[[Sequence[float]], list[int]]


class Peer:
    """One detector of the process beside this one; ``seconds`` is the processor time that its last answer took."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self._name = name
        self._process = process
        self.seconds = 0.0

    def __call__(self, values: Sequence[float]) -> list[int]:
        """Return the first indices of the new levels."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"detector": self._name, "values": list(values)}), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        self.seconds = answer["seconds"]
        changes: list[int] = answer["changes"]
        return changes


def start_peers() -> dict[str, Peer]:
    """Start the other detectors; none where they are not installed. They end when this process does."""
    if not PYTHON.exists():
        return {}
    process = subprocess.Popen(
        [str(PYTHON), "-m", "bench.detection_peer_worker"],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    return {name: Peer(name, process) for name in json.loads(first)} if first else {}
