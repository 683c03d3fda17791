"""Counts a server without Faultwatch: a bare ``perf stat -p`` of its processes during each window of its load."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from findings.by_hand_commands import disable_huge_pages, run_command, words_of

_NOBODY = 65534
_READY_SECONDS = 60
_IDLE_SECONDS = "0.1"
"""After each load, so that what the server still does for it is counted."""


def count_start(
    document: Mapping[str, Any],
    values: Mapping[str, Any],
    folder: Path,
    environment: Mapping[str, str],
    *,
    small_pages: bool,
) -> int:
    """Start a server, load it, stop it, and return the faults of its measured windows.

    Parameters
    ----------
    document
        The workload file.
    values
        What its placeholders stand for, except for the port and the data folder.
    folder
        Where the server was built.
    """
    server, load = document["server"], document["load"]
    data = tempfile.mkdtemp(prefix="data-", dir=folder)
    places = {**values, "port": _free_port(), "data": data}
    words = [word.format_map(places) for word in words_of(server["command"])]
    if os.geteuid() == 0:
        # Some servers refuse to run as root, and in a sandbox none does.
        _give_away(folder)
        words = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", *words]
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(
            ["setarch", "-R", *words],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            preexec_fn=disable_huge_pages if small_pages else None,  # noqa: PLW1509 - there are no threads
        ) as process,
    ):
        try:
            _wait_until_ready(server, places, folder, environment)
            if "fill" in load:
                run_command([word.format_map(places) for word in words_of(load["fill"])], folder, environment)
            warm_up, windows = load.get("warm_up", 1), load.get("windows", 3)
            loading = [word.format_map(places) for word in words_of(load["command"])]
            counts = [_count_window(process.pid, loading, folder, environment) for _ in range(warm_up + windows)]
        finally:
            process.send_signal(signal.Signals[server.get("stop_signal", "SIGTERM")])
    shutil.rmtree(data)
    return sum(counts[warm_up:])


def _count_window(process: int, load: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    figures = folder / "perf-stat.csv"
    processes = ",".join(str(number) for number in _wait_for_same_family(process))
    measured = ["perf", "stat", "-x", ",", "-o", os.fspath(figures), "-e", "minor-faults", "-p", processes]
    waiting = ["sh", "-c", f'"$@" && sleep {_IDLE_SECONDS}', "load", *load]
    run_command([*measured, *waiting], folder, environment)
    return int(figures.read_text().splitlines()[-1].split(",")[0])


def _family(process: int) -> list[int]:
    """Return a process and all that descend from it."""
    children = " ".join(file.read_text() for file in Path(f"/proc/{process}/task").glob("*/children")).split()
    return [process, *(number for child in children for number in _family(int(child)))]


def _wait_for_same_family(process: int) -> list[int]:
    """Return a process and its descendants once none has come or gone for a moment: perf refuses one that has ended."""
    family = _family(process)
    while True:
        time.sleep(0.2)
        if (newer := _family(process)) == family:
            return family
        family = newer


def _wait_until_ready(
    server: Mapping[str, Any], places: Mapping[str, Any], folder: Path, environment: Mapping[str, str]
) -> None:
    words = [word.format_map(places) for word in words_of(server.get("ready_command", []))]
    for _ in range(10 * _READY_SECONDS):
        if words:
            ready = subprocess.run(words, cwd=folder, env=environment, check=False, capture_output=True).returncode == 0
        else:
            with socket.socket() as client:
                ready = client.connect_ex(("127.0.0.1", int(places["port"]))) == 0
        if ready:
            time.sleep(1)  # What it does at its start is in no window.
            return
        time.sleep(0.1)
    raise SystemExit(f"the server is not ready:\n{(folder / 'server.log').read_text()[-2000:]}")


def _free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def _give_away(folder: Path) -> None:
    # Also of what an earlier start left.
    subprocess.run(["chown", "-R", f"{_NOBODY}:{_NOBODY}", str(folder)], check=True)
