"""Recognises servers by names and texts, and proposes how to start and to load them."""

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal, LoadProposal, RunProposal
from runner.adoption.sources import Sources, is_auxiliary
from runner.adoption.workload_text import format_server, render_workload
from runner.workload.placeholders import escape_braces

FindGenerator = Callable[[str], str]
"""Returns how a load generator is started; empty if it is not installed."""

HOW_TO = "docs/how-to/servers.md"
_MAX_SERVICE_FILES = 20
_MAX_COMMAND_CHARACTERS = 1000
_MAX_PORT = 65_535
_INTERPRETERS = {"node", "python", "python3", "ruby", "perl", "php", "sh", "bash"}
_ADDRESS = "http://127.0.0.1:{port}/"
_WRAPPERS = {"env", "exec", "tini", "dumb-init", "--"}
"""Commands that only start the command after them."""

# The load generators for each protocol, the best first. Each sends a fixed number of requests from one client, which
# takes less than a second: a gate loads servers in 160 windows (20 pairs of four), and should do so in two minutes.
_REDIS_ARGUMENTS = "-c 1 -r 100000 -d 512 -t set"
_MEMTIER_ARGUMENTS = "-P memcache_text -p {port} -t 1 -c 1 -d 512 --key-maximum=100000 --hide-histogram"
_MEMCSLAP_ARGUMENTS = "--servers=127.0.0.1:{port} --concurrency=1 --test=set"
_POSTGRES_ARGUMENTS = "-h 127.0.0.1 -p {port} -U postgres postgres"
_LOADS: Mapping[str, tuple[LoadProposal, ...]] = {
    "redis": (
        *(
            LoadProposal(
                f"{name} -p {{port}} -n 2500 {_REDIS_ARGUMENTS}",
                output="redis-benchmark",
                fill=f"{name} -p {{port}} -n 5000 {_REDIS_ARGUMENTS} -q",
            )
            for name in ("redis-benchmark", "valkey-benchmark")
        ),
        LoadProposal(
            "memtier_benchmark -p {port} -t 1 -c 1 -n 2500 -d 512 --key-maximum=100000 --hide-histogram",
            output="memtier",
        ),
    ),
    # The server is filled beyond its memory limit first: below it, items of random sizes make its memory grow in steps
    # of whole slabs.
    "memcached": (
        LoadProposal(
            f"memtier_benchmark {_MEMTIER_ARGUMENTS} -n 2500",
            output="memtier",
            fill=f"memtier_benchmark {_MEMTIER_ARGUMENTS} -n 30000 --ratio=1:0",
        ),
        LoadProposal(
            f"memcslap {_MEMCSLAP_ARGUMENTS} --execute-number=2500",
            output="regex",
            pattern=r"Time to set\s+(?P<operations>\d+) keys by .*?(?P<seconds>\d+\.\d+) seconds",
            fill=f"memcslap {_MEMCSLAP_ARGUMENTS} --execute-number=7500",
        ),
    ),
    "http": (
        LoadProposal("ab -q -k -n 1000 -c 1 {address}", output="ab"),
        LoadProposal("hey -n 1000 -c 1 {address}", output="hey"),
        # wrk accepts no number of requests, only a duration.
        LoadProposal("wrk -t1 -c1 -d1s --latency {address}", output="wrk"),
    ),
    "postgres": (
        LoadProposal(
            f"pgbench -n -S -c 1 -t 1000 {_POSTGRES_ARGUMENTS}",
            output="pgbench",
            fill=f"pgbench -i -s 2 -q {_POSTGRES_ARGUMENTS}",
        ),
    ),
    "mqtt": (
        LoadProposal("mosquitto_pub -h 127.0.0.1 -p {port} -q 1 -t load -m message --repeat 1000", operations=1000),
    ),
}


class _KnownServer(Struct, frozen=True):
    """How a known server is started in the foreground, which protocol it speaks, and how it is stopped.

    In the command, ``PROGRAM`` and ``FOLDER`` stand for the path of the program and for its folder. An HTTP load
    requests ``page``.
    """

    command: str
    protocol: str
    stop_signal: str = ""
    page: str = ""


def _build_command_with_file(text: str, options: str) -> str:
    r"""Return a command that writes a configuration file into the data folder, and starts the program.

    The text is a format of ``printf``, as in double quotes of a shell, in which ``%s`` is the port.
    """
    text = escape_braces(text).replace("DATA", "{data}")
    return f"sh -c 'printf \"{text}\" {{port}} >{{data}}/server.conf && exec PROGRAM {options}'"


_REDIS_SERVER = _KnownServer("PROGRAM --port {port} --bind 127.0.0.1 --save '' --dir {data}", "redis")
KNOWN_SERVERS: Mapping[str, _KnownServer] = {
    "redis-server": _REDIS_SERVER,
    "valkey-server": _REDIS_SERVER,
    "keydb-server": _REDIS_SERVER,
    # As root, memcached insists on a user; for other users, the option has no effect. It stores nothing, and takes up
    # to a second to end if it is not killed.
    "memcached": _KnownServer("PROGRAM -l 127.0.0.1 -p {port} -t 1 -m 8 -u root", "memcached", stop_signal="SIGKILL"),
    "nginx": _KnownServer(
        _build_command_with_file(
            "daemon off; worker_processes 1; pid nginx.pid; error_log stderr; events {} http { access_log off; "
            "server { listen 127.0.0.1:%s; location / { return 200; } } }",
            "-p {data} -c server.conf",
        ),
        "http",
    ),
    "lighttpd": _KnownServer(
        _build_command_with_file(
            r"server.document-root = \"DATA\" \nserver.bind = \"127.0.0.1\" \nserver.port = %s\n",
            "-D -f {data}/server.conf",
        ),
        "http",
        stop_signal="SIGINT",
    ),
    "haproxy": _KnownServer(
        _build_command_with_file(
            r"global\n nbthread 1\ndefaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n"
            r"frontend load\n bind 127.0.0.1:%s\n http-request return status 200\n",
            "-db -f {data}/server.conf",
        ),
        "http",
    ),
    "postgres": _KnownServer(
        "sh -c 'export TZ=UTC && FOLDER/initdb -D {data}/db -U postgres -A trust --no-sync >&2 && exec PROGRAM "
        "-D {data}/db -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=64MB "
        "-c fsync=off -c autovacuum=off'",
        "postgres",
        stop_signal="SIGINT",
    ),
    "mosquitto": _KnownServer("PROGRAM -p {port}", "mqtt"),
    "etcd": _KnownServer(
        "PROGRAM --data-dir {data}/etcd --listen-client-urls http://127.0.0.1:{port} --advertise-client-urls "
        "http://127.0.0.1:{port} --listen-peer-urls http://127.0.0.1:0 --unsafe-no-fsync",
        "http",
        page="health",
    ),
}
"""Servers by the name of their program. Nothing is kept from one start to the next, and a single thread or process
works if the server has such an option."""


def propose_known_server(program: str, find_generator: FindGenerator) -> RunProposal | None:
    """Propose how to start and to load a program with the name of a known server; None for other programs.

    Parameters
    ----------
    program
        Path of the program, relative to the build's directory.
    """
    path = PurePosixPath(program)
    server = KNOWN_SERVERS.get(path.name)
    if server is None or shlex.quote(program) != program:
        return None
    start = get_start_command(program)
    command = server.command.replace("PROGRAM", start).replace("FOLDER", str(path.parent))
    run = RunProposal(command, program=start, stop_signal=server.stop_signal)
    load = choose_load(server.protocol, f"{_ADDRESS}{server.page}", find_generator)
    if load:
        return replace(run, load=load)
    generators = ", ".join(load.command.split()[0] for load in _LOADS[server.protocol])
    return replace(
        run, obstacle=f"{start} is a server, and none of the load generators for it is installed: {generators}"
    )


def propose_listening_server(
    run: RunProposal, endpoint_text: str, port: int, *, speaks_http: bool, find_generator: FindGenerator
) -> RunProposal:
    """Propose how to measure a program that was seen to listen.

    Parameters
    ----------
    endpoint_text
        The port or the path of the Unix socket, as text. A placeholder replaces it in the command line.
    port
        The port; 0 for a Unix socket.
    speaks_http
        Whether the program answers HTTP requests there.
    """
    if port:
        placeholder, endpoint_pattern = "{port}", _build_port_pattern(port)
        connect_command = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"
    else:
        placeholder, endpoint_pattern = "{socket}", rf"(?<![\w./-]){re.escape(endpoint_text)}(?![\w./-])"
        connect_command = f"test -S {shlex.quote(endpoint_text)}"
    command, n_replaced = re.subn(endpoint_pattern, placeholder, escape_braces(run.command))
    # An endpoint that is not in the command line cannot be replaced, so a command has to find out when it is ready.
    ready_command = "" if n_replaced else connect_command
    address = _ADDRESS if n_replaced else _ADDRESS.format(port=port)
    server = replace(
        run,
        command=command,
        program=get_program(run),
        ready_command=escape_braces(ready_command),
        may_do_nothing=False,
        stand_in_file="",
    )
    load = choose_load("http", address, find_generator) if speaks_http else None
    if load:
        return replace(server, load=load)
    endpoint_name = f"port {port}" if port else f"the socket {endpoint_text}"
    missing_part = "no HTTP load generator is installed (ab, hey or wrk)"
    if not speaks_http:
        missing_part = "init does not know a load generator for it"
    return replace(server, obstacle=f"{run.command} listens on {endpoint_name}: it is a server, and {missing_part}")


def names_port(command: str, port: int) -> bool:
    """Return whether a command names a port, and not only a longer number or word that contains it."""
    return re.search(_build_port_pattern(port), command) is not None


def _build_port_pattern(port: int) -> str:
    return rf"(?<![\w.]){port}(?![\w.])"


def list_port_variants(run: RunProposal, port: int) -> list[RunProposal]:
    """Return a command with each of the usual ways to set a server's port: a variable, an option, the only argument."""
    commands = [f"env PORT={port} {run.command}", f"{run.command} --port {port}", f"{run.command} -p {port}"]
    if " " not in run.command:
        commands.append(f"{run.command} {port}")
    return [replace(run, command=command, program=get_program(run)) for command in commands]


def replace_file_by_folder(run: RunProposal) -> RunProposal:
    """Return a command with the build's directory in place of its file, for a server of static files."""
    return replace(run, command=f"{run.command.removesuffix(run.file)}.", input_file="", stand_in_file="")


def choose_load(protocol: str, address: str, find_generator: FindGenerator) -> LoadProposal | None:
    """Return the load of the first installed load generator for a protocol; None if none is installed.

    Parameters
    ----------
    address
        The address that an HTTP load requests.
    """
    for load in _LOADS[protocol]:
        name, _, arguments = load.command.partition(" ")
        start = find_generator(name)
        if start:
            arguments = arguments.replace("{address}", address)
            # The command that fills the server with data starts the same generator.
            fill_command = start + load.fill.removeprefix(name) if load.fill else ""
            return replace(load, command=f"{start} {arguments}", fill=fill_command)
    return None


def list_example_lines(run: RunProposal) -> list[str]:
    """Return example tables for a server that init cannot load, as comments for the workload file."""
    lines = format_server(run, _make_example_load(run))
    heading = (
        f"# {run.program} is a server. Replace `command` in [run] with these tables, and fill in a load generator and",
        f"# the number of operations that one execution of it performs: {HOW_TO}",
    )
    return [*heading, *(f"# {line}" for line in lines if line)]


def render_example_workload(name: str, build: BuildProposal, run: RunProposal) -> str:
    """Return the text of an example workload file for a server that init cannot load."""
    return render_workload(name, build, replace(run, load=_make_example_load(run)), schema="")


def _make_example_load(run: RunProposal) -> LoadProposal:
    """Return a load that shows where a load generator gets the port or the socket of a server."""
    placeholder = next((name for name in ("port", "socket") if f"{{{name}}}" in run.command), "")
    return LoadProposal(f"LOAD_GENERATOR {{{placeholder}}}" if placeholder else "LOAD_GENERATOR", operations=1000)


def list_service_runs(sources: Sources, programs: Collection[str]) -> list[RunProposal]:
    """Return the commands of systemd units and Dockerfiles that start built programs or tracked scripts.

    Parameters
    ----------
    programs
        Paths of the built programs.
    """
    paths = {PurePosixPath(path).name: path for path in sorted(programs, reverse=True)}
    runs: dict[str, RunProposal] = {}
    files = [file for file in sources.files if _is_service_file(file) and not is_auxiliary(file)]
    for file in files[:_MAX_SERVICE_FILES]:
        text = sources.read_text(file)
        is_unit = file.endswith(".service")
        variables = {} if is_unit else _list_port_variables(text)
        for words in list_unit_commands(text) if is_unit else list_container_commands(text):
            command = _localize_command(words, paths, sources)
            if command:
                prefix = ["env", *(f"{name}={port}" for name, port in variables.items())] if variables else []
                line = shlex.join([*prefix, *command])
                runs[line] = RunProposal(line, program=get_start_command(command[0]), from_service_file=True)
    return list(runs.values())


def list_unit_commands(text: str) -> Iterator[list[str]]:
    """Yield the commands that a systemd unit starts, except those with variables of systemd."""
    for line in _join_lines(text):
        key, equals, value = line.partition("=")
        if equals and key.strip() == "ExecStart":
            # "-", "+", "!", ":" and "|" say how systemd starts the command. After "@", the second word is the name of
            # the process (argv[0]), not an argument.
            value = value.strip().lstrip("-+!:|")
            if not value.startswith("@") and "%" not in value and "$" not in value:
                yield _split_words(value)


def list_container_commands(text: str) -> Iterator[list[str]]:
    """Yield the commands that a Dockerfile may start: the entry point with its arguments, then the arguments alone."""
    last_words: dict[str, list[str]] = {"ENTRYPOINT": [], "CMD": []}
    for line in _join_lines(text):
        instruction, _, value = line.strip().partition(" ")
        if instruction.upper() in last_words:
            last_words[instruction.upper()] = _split_container_words(value.strip())
    entry_point, arguments = last_words["ENTRYPOINT"], last_words["CMD"]
    yield [*entry_point, *arguments]
    # An entry point is often a script that prepares the container and then executes its arguments.
    yield arguments


def list_exposed_ports(text: str) -> list[int]:
    """Return the TCP ports that a Dockerfile exposes."""
    lines = [line.split() for line in _join_lines(text)]
    words = [word for line in lines if line and line[0].upper() == "EXPOSE" for word in line[1:]]
    texts = [word.removesuffix("/tcp") for word in words]
    # A number of more than five digits is not a port, and may take long to convert.
    numbers = [int(text) for text in texts if text.isdecimal() and len(text) <= 5]
    return [number for number in numbers if 0 < number <= _MAX_PORT]


def _list_port_variables(text: str) -> dict[str, str]:
    """Return the variables of a Dockerfile whose value is one of its exposed ports, each with the port."""
    ports = {str(port) for port in list_exposed_ports(text)}
    port_variables: dict[str, str] = {}
    for line in _join_lines(text):
        instruction, _, value = line.strip().partition(" ")
        if instruction.upper() == "ENV":
            for name, port in re.findall(
                r"\b([A-Z][A-Z0-9_]{0,50})[= ]\"?(\d{1,5})\b", value[:_MAX_COMMAND_CHARACTERS]
            ):
                if port in ports:
                    port_variables[name] = port
    return port_variables


def _is_service_file(file: str) -> bool:
    """Return whether a file is a systemd unit or a Dockerfile."""
    name = PurePosixPath(file).name
    return name.endswith(".service") or name in {"Dockerfile", "Containerfile"}


def _join_lines(text: str) -> Iterable[str]:
    """Return the lines of a text; a line that ends with a backslash is joined with the next."""
    return text.replace("\\\n", " ").splitlines()


def _split_container_words(value: str) -> list[str]:
    """Return the words of a Dockerfile's command, a JSON list or a simple command; empty if it needs a shell."""
    if value.startswith("["):
        try:
            words = json.loads(value)
        except (ValueError, RecursionError):  # RecursionError: too deeply nested
            return []
        return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else []
    return [] if re.search(r"[$&|;<>`()]", value) else _split_words(value)


def _split_words(value: str) -> list[str]:
    """Return the words of a command; empty if a quote is not closed."""
    try:
        # One character more than allowed, so that a longer command is refused and not cut off.
        return shlex.split(value[: _MAX_COMMAND_CHARACTERS + 1])
    except ValueError:
        return []


def _localize_command(words: Sequence[str], paths: Mapping[str, str], sources: Sources) -> list[str]:
    """Replace the installed program of a command with the one in the built tree; return no words if there is none.

    A script that an interpreter executes is replaced with the tracked file.

    Parameters
    ----------
    paths
        The paths of the built programs, by file name.
    """
    words = list(words)
    while words and PurePosixPath(words[0]).name in _WRAPPERS:
        del words[0]
    text = " ".join(words)
    # The values of variables, which are marked by "$", are unknown.
    if not words or len(text) > _MAX_COMMAND_CHARACTERS or not text.isprintable() or "$" in text:
        return []
    name = PurePosixPath(words[0]).name
    if name in paths:
        return [get_start_command(paths[name]), *words[1:]]
    if name in _INTERPRETERS and len(words) > 1:
        # The script's folder in the container differs from its folder in the repository.
        parts = PurePosixPath(words[1]).parts
        for index in range(len(parts)):
            script = "/".join(parts[index:])
            if sources.has(script):
                return [name, script, *words[2:]]
    return []


def get_start_command(program: str) -> str:
    """Return how a program in the build's directory is started."""
    return program if "/" in program else f"./{program}"


def get_program(run: RunProposal) -> str:
    """Return the program that a command starts."""
    return run.program or run.command.split()[0]
