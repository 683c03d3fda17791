"""The rules of ``[server]`` and ``[load]`` in a workload file."""

import json
import tomllib
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest

from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.schemas import read_schema
from runner.work_reports.work_output import READERS
from runner.workload import Workload, load_workload
from runner.workload.bound_case import bind_case
from runner.workload.definition import LoadOutput

GOOD = """
[workload]
name = "redis"
[server]
command = "redis-server --port {port} --dir {data} --databases {databases}"
[load]
fill = "redis-benchmark -p {port} -n 10"
command = "redis-benchmark -p {port} -n 20"
output = "redis-benchmark"
[matrix]
databases = [1, 16]
"""
PLAIN = '[workload]\nname = "w"\n'


@pytest.fixture
def load(tmp_path: Path):  # type: ignore[no-untyped-def]
    def make(text: str) -> Workload:
        (tmp_path / "workload.toml").write_text(text, encoding="utf-8")
        return load_workload(tmp_path)

    return make


def is_valid(text: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(read_schema("workload"))).is_valid(tomllib.loads(text))


def test_a_server_has_defaults(load) -> None:  # type: ignore[no-untyped-def]
    workload = load(GOOD)
    assert workload.command == workload.server.command
    assert (workload.server.ready_timeout, workload.server.stop_signal, workload.server.stop_timeout) == (
        30,
        "SIGTERM",
        10,
    )
    assert (workload.load.windows, workload.load.warm_up, workload.load.operations) == (3, 1, None)


# What is replaced in a good file, what the message says, and whether the schema refuses the file too.
MISTAKES = [
    ("[load]", "[workload.load]", r"\[workload\] load: unknown key", True),
    ('fill = "redis-benchmark -p {port} -n 10"', "fil = 'x'", r"\[load\] fil: unknown key; did you mean 'fill'", True),
    ("[server]", "[server]\nready_timeout = 0", r"\[server\] ready_timeout: Input should be greater than 0", True),
    ("[server]", "[server]\nstop_timeout = 1e9", r"\[server\] stop_timeout: Input should be less than", True),
    ("[server]", '[server]\nstop_signal = "SIGHUP"', r"\[server\] stop_signal: Input should be 'SIGTERM', ", True),
    ("[server]", '[server]\nready_log = ""', r"\[server\] ready_log: String should have at least 1 character", True),
    ("[server]", '[server]\nready_command = ""', r"\[server\] ready_command: the command is empty", False),
    ("[server]", "[server]\nstop_command = []", r"\[server\] stop_command: the command is empty", False),
    ("[load]", "[load]\nwindows = 0", r"\[load\] windows: Input should be greater than or equal to 1", True),
    ("[load]", "[load]\nwindows = 101", r"\[load\] windows: Input should be less than or equal to 100", True),
    ("[load]", "[load]\nwarm_up = -1", r"\[load\] warm_up: must be a number of windows from 0 to 100, or", True),
    (
        "[load]",
        '[load]\nwarm_up = "stable"',
        r"\[load\] warm_up: must be a number of windows from 0 to 100, or \"steady\"",
        True,
    ),
    ("[load]", "[load]\noperations = 0", r"\[load\] operations: Input should be greater than", True),
    ('output = "redis-benchmark"', 'output = "redis"', r"\[load\] output: Input should be 'none', ", True),
    ("-n 20", "-n {requests}", r"uses the parameter 'requests', which the matrix does not have.*databases", False),
    (
        "--port {port}",
        "--port {prot}",
        r"uses the parameter 'prot', .*parameters: data, databases, port, socket",
        False,
    ),
    ("-n 10", "-n {", r"a single '{'", False),
    (
        "databases = ",
        "port = [1]\ndatabases = ",
        r"\[matrix\] port: the runner uses this name for the server; choose anoth",
        False,
    ),
    ("databases = ", "data = [1]\ndatabases = ", r"\[matrix\] data: the runner uses this name for the server", False),
    (
        "--port {port}",
        "--port 6379",
        r"\[server\] does not say when the server is ready.*use {port} or {socket} in its command, or add ready_",
        False,
    ),
    *(
        (
            "[server]",
            f"[run]\n{key} = {value}\n[server]",
            rf"\[run\] {key}: not allowed together with \[server\], which has its own",
            True,
        )
        for key, value in {
            "command": '"./other"',
            "output": '"json"',
            "output_file": '"result.json"',
            "pattern": '"x"',
            "processes": "2",
            "region": "true",
        }.items()
    ),
]


@pytest.mark.parametrize(("old", "new", "message", "is_marked"), MISTAKES, ids=[new for _, new, _, _ in MISTAKES])
def test_a_mistake_is_one_line_with_its_place(
    load,  # type: ignore[no-untyped-def]
    old: str,
    new: str,
    message: str,
    is_marked: bool,
    tmp_path: Path,
) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(FaultwatchError, match=message) as refusal:
        load(text)
    assert refusal.value.what.startswith(f"{tmp_path / 'workload.toml'}: ")
    assert ": : " not in refusal.value.what
    assert "\n" not in refusal.value.what
    assert is_valid(text) is not is_marked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAIN, r"workload.toml: \[run\] command: this key is required"),
        (PLAIN + "[run]\nhuge_pages = 'never'\n", r"workload.toml: \[run\] command: this key is required"),
        (
            PLAIN + "[server]\ncommand = 'w {port}'\n",
            r"workload.toml: \[server\] and \[load\] need each other: add \[load\]",
        ),
        (
            PLAIN + "[run]\ncommand = 'w'\n[load]\ncommand = 'l'\n",
            r"workload.toml: \[server\] and \[load\] need each other: add \[server\]",
        ),
        (PLAIN + "[server]\ncommand = 'w {port}'\n[load]\nwindows = 2\n", r"\[load\] command: this key is required"),
        (PLAIN + "[server]\nready_log = 'x'\n[load]\ncommand = 'l'\n", r"\[server\] command: this key is required"),
    ],
)
def test_a_workload_has_a_command_or_a_server_with_its_load(load, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FaultwatchError, match=message):
        load(text)
    assert not is_valid(text)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        PLAIN + "[run]\ncommand = 'w'\n",
        GOOD.replace("[server]", "[run]\nallocator = 'jemalloc'\nhuge_pages = 'never'\n[server]"),
        GOOD.replace("--port {port}", "--unixsocket {socket}"),
        GOOD.replace("--port {port}", "").replace("[server]", "[server]\nready_log = 'Ready'"),
        GOOD.replace("--port {port}", "").replace("[server]", "[server]\nready_command = 'redis-cli ping'"),
        GOOD.replace("[load]", "[load]\nwarm_up = 'steady'"),
    ],
)
def test_a_file_that_is_right_is_right_for_an_editor_too(load, text: str) -> None:  # type: ignore[no-untyped-def]
    load(text)
    assert is_valid(text)


def test_only_commands_of_a_server_get_places(load) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FaultwatchError, match="uses the parameter 'port', which the matrix does not have"):
        load(GOOD.replace("[server]", '[run]\nenvironment = { PORT = "{port}" }\n[server]'))
    with pytest.raises(FaultwatchError, match="uses the parameter 'port', which the matrix does not have"):
        load(PLAIN + '[run]\ncommand = "w {port}"\n')


def test_a_parameter_may_have_the_name_of_a_place_where_there_is_no_server(load) -> None:  # type: ignore[no-untyped-def]
    workload = load(PLAIN + '[run]\ncommand = "w {port}"\n[matrix]\nport = [1]\n')
    assert bind_case(workload, Case(workload="w", definition="0" * 16, parameters={"port": 1})).command == ("w", "1")


def test_what_moves_the_counts_of_a_server_starts_a_series(load) -> None:  # type: ignore[no-untyped-def]
    base = load(GOOD).definition
    for same in ("ready_timeout = 5", "stop_timeout = 5", 'stop_signal = "SIGTERM"'):
        assert load(GOOD.replace("[server]", f"[server]\n{same}")).definition == base, same
    assert load(GOOD.replace("[load]", "[load]\nwindows = 3\nwarm_up = 1")).definition == base, "the defaults"
    definitions = [base]
    for other in ("windows = 4", "warm_up = 2", 'warm_up = "steady"', "operations = 20"):
        definitions.append(load(GOOD.replace("[load]", f"[load]\n{other}")).definition)
    for other in ('ready_log = "x"', 'ready_command = "true"', 'stop_signal = "SIGINT"', 'stop_command = "true"'):
        definitions.append(load(GOOD.replace("[server]", f"[server]\n{other}")).definition)
    for old, new in (("-n 10", "-n 11"), ("-n 20", "-n 21"), ("--dir", "--cwd"), ('output = "redis-benchmark"', "")):
        definitions.append(load(GOOD.replace(old, new)).definition)
    assert len(set(definitions)) == len(definitions)


def test_the_definition_of_a_program_is_what_it_was_before_there_were_servers(load) -> None:  # type: ignore[no-untyped-def]
    # Series of stored runs would begin again.
    assert load(PLAIN + '[run]\ncommand = "w"\n').definition == "3a75a617923b7ef5"


def test_files_that_only_the_load_names_belong_to_the_definition(load, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    text = GOOD.replace("-n 20", "-n 20 {workload}/keys")
    definitions = set()
    for content in ("a", "b"):
        (tmp_path / "keys").write_text(content)
        definitions.add(load(text).definition)
    assert len(definitions) == 2


def test_every_format_of_a_load_has_a_reader() -> None:
    assert set(get_args(LoadOutput)) == {"none", "regex", *READERS}
