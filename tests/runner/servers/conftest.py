"""A server of each kind, and the way to execute it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.contract.report import Case, Sample
from runner.doctor.counting import require_measurable_host
from runner.execution.sandbox import create_sandbox
from runner.process_state.process_state import ProcessState
from runner.servers.server_execution import ServerOrder, start_server
from runner.servers.server_processors import split_processors
from runner.workload import load_workload

HERE = Path(__file__).parent
Execute = Callable[..., Sample]

TEXT = """
[workload]
name = "server"
timeout = {timeout}

[server]
command = "./server {place} {mode}"
ready_timeout = {ready_timeout}
stop_timeout = {stop_timeout}
{server}

[load]
command = "python3 load.py {place} {requests}"
output = "json"
windows = {windows}
warm_up = {warm_up}
{load}
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_measurable_host()
    folder = tmp_path_factory.mktemp("server")
    subprocess.run(["cc", "-O1", "-pthread", "-o", folder / "server", HERE / "server.c"], check=True)
    shutil.copy(HERE / "load.py", folder)
    return folder


@pytest.fixture
def tree(built: Path) -> Iterator[Path]:
    """The folder in which the server runs, where the user of a sandbox sees it too."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-server-") as folder:
        tree = Path(shutil.copytree(built, Path(folder, "tree")))
        for part in (tree, tree.parent):
            part.chmod(0o755)
        yield tree


@pytest.fixture
def execute(tree: Path, tmp_path: Path) -> Execute:
    """Return a function that executes the server in a mode, with keys of its workload file."""

    def execute_mode(mode: str, *, sandboxed: bool = False, **keys: object) -> Sample:
        defaults = {"timeout": 20, "ready_timeout": 10, "stop_timeout": 5, "requests": 200, "windows": 2, "warm_up": 1}
        texts = {"place": "{port}", "server": "", "load": ""}
        file = tmp_path / "workload.toml"
        file.write_text(TEXT.format(mode=mode, **(defaults | texts | keys)))
        sandbox = create_sandbox() if sandboxed else None
        if sandbox:
            sandbox.change_owner(tree)
        cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
        state = ProcessState(huge_pages="never", cpus=cpus)
        case = Case(workload="server", definition="0" * 16)
        with start_server(ServerOrder(load_workload(file), case, tree, state, load_cpus, sandbox)) as server:
            return server.run()

    return execute_mode
