"""Programs are built and counted without the product."""

from __future__ import annotations

from pathlib import Path

import pytest

from findings import by_hand

pytestmark = pytest.mark.perf

_WORKLOAD = """[workload]
name = "true"

[build]
command = ["sh", "-c", "test \\"$FLAGS\\" = '${X} {other}' && cp /bin/true program"]
environment = { FLAGS = "${X} {other}" }

[run]
command = "./program"
"""


def test_braces_in_the_environment_of_a_build_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(_WORKLOAD)
    assert len(by_hand.count_own(tmp_path, "true")) == by_hand.RUNS


_SERVER = """[workload]
name = "server"

[build]
command = "true"

[server]
command = ["python3", "{workload}/server.py", "{port}"]

[load]
command = ["python3", "-c", "import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(1))"]
warm_up = 1
windows = 2
"""
_ANSWERS = """import mmap, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client = listener.accept()[0]
    memory = mmap.mmap(-1, 100 << 12)
    for page in range(100):
        memory[page << 12] = 1
    client.close()
"""


def test_a_server_is_counted_in_its_measured_windows(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(_SERVER)
    (tmp_path / "server.py").write_text(_ANSWERS)
    counts = by_hand.count_own(tmp_path, "server")
    assert len(counts) == by_hand.STARTS
    assert all(200 <= count < 250 for count in counts), counts
