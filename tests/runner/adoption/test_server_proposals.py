"""Servers are recognised by name, by where they listen, and by the files that start them as a service."""

import shlex
import tomllib
from pathlib import Path

import pytest

from runner.adoption.built_programs import BuiltProgram, find_known_servers
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.server_proposals import (
    KNOWN_SERVERS,
    list_container_commands,
    list_example_lines,
    list_exposed_ports,
    list_port_variants,
    list_service_runs,
    list_unit_commands,
    propose_known_server,
    propose_listening_server,
    replace_file_by_folder,
)
from runner.adoption.workload_text import render_workload
from runner.workload import Workload
from tests.runner.adoption.listings import listing


def everything(name: str) -> str:
    return name


def nothing(_: str) -> str:
    return ""


def parse(run: RunProposal) -> Workload:
    text = render_workload("x", BuildProposal("Make", "make"), run)
    return Workload.model_validate(tomllib.loads(text) | {"path": Path("workload.toml")})


@pytest.mark.parametrize("name", KNOWN_SERVERS)
@pytest.mark.parametrize("folder", ["", "src/"])
def test_a_known_server_gets_both_tables(name: str, folder: str) -> None:
    run = propose_known_server(folder + name, everything)
    assert run
    workload = parse(run)
    assert workload.server
    assert workload.load
    text = shlex.join(workload.server.command)
    assert "{port}" in text
    assert f"{folder or './'}{name} " in text
    assert any("{port}" in word for word in workload.load.command)
    assert workload.load.output != "none" or workload.load.operations
    assert workload.run.huge_pages == "never"


def test_the_first_load_generator_that_is_installed_loads() -> None:
    def find(name: str) -> str:
        return "./src/valkey-benchmark" if name == "valkey-benchmark" else ""

    run = propose_known_server("src/valkey-server", find)
    assert run
    assert run.load
    assert run.load.command.startswith("./src/valkey-benchmark -p {port} -n ")
    assert run.load.fill.startswith("./src/valkey-benchmark -p {port} -n ")


def test_without_a_load_generator_a_known_server_is_told() -> None:
    run = propose_known_server("memcached", nothing)
    assert run
    assert run.load is None
    assert run.obstacle == (
        "./memcached is a server, and none of the load generators for it is installed: memtier_benchmark, memcslap"
    )
    assert list_example_lines(run)[2:] == [
        "# [server]",
        '# command = "./memcached -l 127.0.0.1 -p {port} -t 1 -m 8 -u root"',
        '# stop_signal = "SIGKILL"',
        "# [load]",
        '# command = "LOAD_GENERATOR {port}"',
        "# operations = 1000",
    ]


@pytest.mark.parametrize("name", ["parser", "a b/nginx", "$(x)/nginx", "{x}/nginx", "redis-server.c", "'/nginx"])
def test_other_names_are_none_of_a_known_server(name: str) -> None:
    assert propose_known_server(name, everything) is None


def make_files(tree: Path, *names: str, mode: int = 0o755) -> None:
    for name in names:
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(mode)


def test_scripts_with_the_name_of_a_server_count_unless_there_is_a_program(tmp_path: Path) -> None:
    make_files(tmp_path, "memcached", "debian/memcached", "contrib/nginx", "deps/redis-server", "src/redis-server")
    make_files(tmp_path, "etcd", mode=0o644)
    tracked = ["contrib/nginx", "debian/memcached"]
    assert find_known_servers(tmp_path, tracked, []) == ["memcached", "src/redis-server"]
    programs = [BuiltProgram("build/bin/memcached"), BuiltProgram("deps/redis-server")]
    assert find_known_servers(tmp_path, tracked, programs) == ["build/bin/memcached", "src/redis-server"]


def listen(command: str, place: str, port: int = 0, *, speaks_http: bool = False) -> RunProposal:
    return propose_listening_server(
        RunProposal(command, may_do_nothing=True), place, port, speaks_http=speaks_http, find_generator=everything
    )


@pytest.mark.parametrize(
    ("command", "template"),
    [
        ("./srv 8080", "./srv {port}"),
        ("./srv --listen=127.0.0.1:8080 -n 18080 80801", "./srv --listen=127.0.0.1:{port} -n 18080 80801"),
        ("./srv '{8080}' x8080", "./srv '{{{port}}}' x8080"),
    ],
)
def test_the_port_in_a_command_is_given_by_the_runner(command: str, template: str) -> None:
    run = listen(command, "8080", 8080, speaks_http=True)
    assert run.command == template
    assert run.load
    assert run.load.command == "ab -q -k -n 1000 -c 1 http://127.0.0.1:{port}/"
    assert not run.ready_command
    assert parse(run).server


def test_a_port_that_only_the_program_knows_stays() -> None:
    run = listen("./srv", "8080", 8080, speaks_http=True)
    assert run.load
    assert run.load.command.endswith(" http://127.0.0.1:8080/")
    workload = parse(run)
    assert workload.server
    assert workload.server.ready_command == ("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080")


def test_a_server_is_told_its_port_in_the_usual_ways_and_gets_a_folder_to_serve() -> None:
    run = replace_file_by_folder(RunProposal("./srv COPYING", stand_in_file="COPYING"))
    assert [variant.command for variant in list_port_variants(run, 29999)] == [
        *("env PORT=29999 ./srv .", "./srv . --port 29999", "./srv . -p 29999")
    ]
    assert {(variant.program, variant.file) for variant in list_port_variants(run, 29999)} == {("./srv", "")}
    assert list_port_variants(RunProposal("./srv"), 29999)[-1].command == "./srv 29999"


def test_a_server_that_does_not_speak_http_is_told() -> None:
    run = listen("./srv 8080", "8080", 8080)
    assert run.load is None
    assert run.obstacle == (
        "./srv 8080 listens on port 8080: it is a server, and init does not know a load generator for it"
    )
    assert '# command = "LOAD_GENERATOR {port}"' in list_example_lines(run)


def test_a_socket_in_a_command_is_given_by_the_runner() -> None:
    run = listen("./srv /tmp/srv.sock /tmp/srv.sock.d", "/tmp/srv.sock")
    assert run.command == "./srv {socket} /tmp/srv.sock.d"
    assert "listens on the socket /tmp/srv.sock: it is a server" in run.obstacle


def test_http_without_a_load_generator_is_told() -> None:
    run = propose_listening_server(RunProposal("./srv 80"), "80", 80, speaks_http=True, find_generator=nothing)
    assert run.obstacle == (
        "./srv 80 listens on port 80: it is a server, and no HTTP load generator is installed (ab, hey or wrk)"
    )


def list_commands(files: dict[str, str], *programs: str) -> list[str]:
    return [run.command for run in list_service_runs(listing(files), programs)]


def test_a_unit_names_a_built_program() -> None:
    unit = "[Service]\nExecStartPre=/bin/mkdir /run/srv\nExecStart=-/usr/bin/srv --foreground \\\n  --port 8080\n"
    assert list_commands({"dist/srv.service": unit}, "build/srv") == ["build/srv --foreground --port 8080"]
    assert list_commands({"dist/srv.service": unit}, "build/other") == []
    assert list_commands({"tests/srv.service": unit}, "build/srv") == []


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ('EXPOSE 8080\nCMD ["/srv", "--port", "8080"]', ["./srv --port 8080"]),
        ('ENTRYPOINT ["/usr/bin/tini", "--", "/app/srv"]\nCMD ["-p", "80"]', ["./srv -p 80"]),
        ('ENTRYPOINT ["/entry.sh"]\nCMD ["srv"]', ["./srv"]),
        ("EXPOSE 3000/tcp\nENV NODE_ENV=x PORT=3000\nCMD exec srv", ["env PORT=3000 ./srv"]),
        ("ENV PORT 3000\nCMD srv", ["./srv"]),
        ('CMD ["python3", "/app/web/main.py", "80"]', ["python3 web/main.py 80"]),
        ('CMD ["srv", "--old"]\nFROM scratch\nCMD ["srv"]', ["./srv"]),
        ("CMD srv && rm -rf /", []),
        ("CMD srv $PORT", []),
        ('CMD ["srv", "$PORT"]', []),
    ],
)
def test_a_container_names_a_built_program_or_a_script(text: str, commands: list[str]) -> None:
    assert list_commands({"Dockerfile": text, "web/main.py": ""}, "srv") == commands


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "[",
            "[" * 100_000,
            '["srv", 1]',
            '{"srv": 1}',
            '["srv\\u0000"]',
            '["srv\\u001b[31m"]',
            "'srv",
            "srv\x00",
        ),
        *(
            "/bin/rm -rf /",
            "srv " + "x" * 2000,
            "srv %i",
            "@srv name",
            "sh -c srv",
            "node ../../etc/passwd",
            "-" * 9999,
        ),
        *("env", "env env -- exec", "srv `x`", "srv\\", "[]", "[[]]", "null", '["sh", "-c", "srv"]'),
    ],
)
def test_a_hostile_file_starts_nothing(value: str) -> None:
    files = {
        "x.service": f"[Service]\nExecStart={value}\n",
        "Dockerfile": f"CMD {value}\nEXPOSE {value}\nENV {value}\n",
    }
    for command in list_commands(files, "srv"):
        assert shlex.split(command)[0] == "./srv"
        assert command.isprintable()
        assert len(command) <= 1100


def test_many_files_are_not_all_read() -> None:
    files = {f"{number}.service": f"ExecStart=srv {number}" for number in range(1000)}
    assert len(list_commands(files, "srv")) == 20


def test_the_ports_of_a_container_are_numbers() -> None:
    assert list_exposed_ports(
        "expose 80 443/tcp 53/udp $PORT 99999 00008099999 0 8000-8100\n" + "EXPOSE " + "9" * 5000
    ) == [
        80,
        443,
    ]


def test_a_unit_may_have_several_commands_and_a_container_none() -> None:
    assert list(list_unit_commands("ExecStart=a 1\nExecStart = +b\nExecStop=c")) == [["a", "1"], ["b"]]
    assert list(list_container_commands("FROM scratch")) == [[], []]
