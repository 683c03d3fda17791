"""A client that a public generator makes of the API's description reads drifts and orders a bisect from a service."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

ROOT = Path(__file__).parents[2]
GENERATOR = ROOT / ".venv/bin/openapi-python-client"
PYTHON = ROOT / ".venv/bin/python"
HERE = Path(__file__).parent
TIMEOUT = 60

pytestmark = pytest.mark.client


@dataclass(frozen=True)
class Running:
    """A service that asks for tokens, with a history in which one commit costs 50 faults."""

    url: str
    token: str


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    environment = os.environ | {"FAULTWATCH_HOME": str(tmp_path / "home"), "FAULTWATCH_ACCESS": "tokens"}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    scopes = [word for scope in ("read", "report", "order") for word in ("--scope", scope)]
    token = run("service", "token", "new", "program", *scopes).strip().splitlines()[-1]
    port = tmp_path / "port"
    serve = [sys.executable, "-m", "service", "serve", "--port", "0", "--port-file", str(port)]
    process = subprocess.Popen(serve, env=environment, cwd=ROOT, start_new_session=True)
    try:
        deadline = time.monotonic() + TIMEOUT
        while not port.exists():
            assert process.poll() is None, "the service ended"
            assert time.monotonic() < deadline, "the service does not start"
            time.sleep(0.05)
        url = f"http://127.0.0.1:{int(port.read_text())}"
        environment |= {"FAULTWATCH_URL": url, "FAULTWATCH_TOKEN": token}
        rows = [f"2025-01-{day:02},{day:040x},parser,{100 if day < 10 else 150}" for day in range(1, 20)]
        history = tmp_path / "history.csv"
        history.write_text("\n".join(["when,what,program,faults", *rows]) + "\n")
        columns = "revision=what,case=program,started_at=when,minor-faults=faults"
        run("runner", "import", str(history), "--subject", "parser", "--host", "lab1", "--columns", columns)
        yield Running(url, token)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(TIMEOUT)


def test_a_generated_client_reads_drifts_and_orders_a_bisect(running: Running, tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {running.token}"}
    document = requests.get(f"{running.url}/openapi.json", headers=headers, timeout=TIMEOUT)
    document.raise_for_status()
    (tmp_path / "openapi.json").write_text(document.text)
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    generate = [
        *(str(GENERATOR), "generate", "--path", "openapi.json", "--meta", "none", "--fail-on-warning"),
        *("--config", "config.yml", "--output-path", "client/faultwatch_client"),
    ]
    (tmp_path / "client").mkdir()
    made = subprocess.run(generate, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr

    use = [str(PYTHON), str(HERE / "use_client.py"), str(tmp_path / "client"), running.url, running.token]
    used = subprocess.run(use, capture_output=True, text=True, check=False)
    assert used.returncode == 0, used.stderr
    seen = json.loads(used.stdout)
    assert (seen["drift"]["before"], seen["drift"]["after"]) == (100, 150)
    assert seen["drift"]["revision"] == f"{10:040x}"
    assert seen["points"] == 19
    assert seen["orders"] == [201, 200], "the same question again is the same job"
    assert seen["job"]["question"]["bad"] == seen["drift"]["revision"]
    assert seen["job"]["asked_by"] == "program"
    assert seen["missing"]["status"] == 404
    assert seen["refused"] == 401
