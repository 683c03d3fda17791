"""The commands of a server and of its load for one start."""

from pathlib import Path

from runner.workload import list_cases, load_workload
from runner.workload.bound_case import bind_case
from runner.workload.bound_server import ServerResources, bind_server
from tests.runner.workload.test_server_tables import GOOD


def test_the_runner_gives_places_to_all_commands_of_a_server(tmp_path: Path) -> None:
    keys = 'ready_command = "redis-cli -p {port} ping"\nstop_command = ["rm", "{socket}"]\n'
    (tmp_path / "workload.toml").write_text(GOOD.replace("[server]\n", f"[server]\n{keys}"), encoding="utf-8")
    workload = load_workload(tmp_path)
    case = list_cases(workload)[1]
    bound = bind_server(workload, case, ServerResources("20001", "/tmp/s.sock", "/tree/data"))
    assert bound.command == ("redis-server", "--port", "20001", "--dir", "/tree/data", "--databases", "16")
    assert bound.ready_command == ("redis-cli", "-p", "20001", "ping")
    assert bound.stop_command == ("rm", "/tmp/s.sock")
    assert bound.fill == ("redis-benchmark", "-p", "20001", "-n", "10")
    assert bound.load == ("redis-benchmark", "-p", "20001", "-n", "20")
    shown = bind_case(workload, case).command
    assert shown == (*("redis-server", "--port", "{port}", "--dir", "{data}", "--databases", "16"),), (
        "no port of one start"
    )
