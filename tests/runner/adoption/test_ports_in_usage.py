import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.adoption.ports_in_usage import list_port_arguments

GO_FLAGS = 'Usage of bin/srv:\n  -addr string\n    \tlisten address (default ":8080")\n  -v\tverbose\n'
ARGPARSE = """usage: srv.py [-h] [--bind ADDRESS]
              [--port PORT] root
srv.py: error: the following arguments are required: root
"""
WRAPPED_ARGPARSE = """usage: srv.py [-h] [--directory DIRECTORY] [--verbose] [--certificate FILE]
              port
srv.py: error: the following arguments are required: port
"""
OPTIONS = """usage: srv ROOT [flags]

flags:
  -d, --daemon         Run in the background, and close the port on exit
  -p, --port NUMBER    The port to listen on
"""
MEMCACHED = "srv 1.6\n-p, --port=<num>          TCP port to listen on (default: 11211)\n-s, --unix-socket=<file>\n"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("usage: answerd PORT\n", ["29999"]),
        ("Usage: ./answerd <port>\n", ["29999"]),
        ("usage: python3 answerd.py [PORT]\n", ["29999"]),
        ("Usage:\n  answerd [options] <host> <port>\n", ["127.0.0.1 29999"]),
        ("usage: answerd HOST:PORT DIRECTORY\n", ["127.0.0.1:29999 ."]),
        ("usage: answerd -p port [-v]\n", ["-p 29999"]),
        ("usage: answerd --port=PORT\n", ["--port=29999"]),
        ("usage: answerd [-v] [-p port] <threads>\n", ["-p 29999 1"]),
        ("usage: answerd PORT (for example 8080)\n", ["29999"]),
        ("Usage: answerd <port>\n  <port>  the port to listen on\n", ["29999"]),
        ("Usage: answerd <port> [root]\n  <port>: where to listen\n  [root] - its files\n", ["29999"]),
        ("usage: answerd [-v] [--log <file>]\n    [--quiet]  [--daemon]\n    <port>\n", ["29999"]),
        ("Usage:\n  answerd HOST\n          PORT\n", ["127.0.0.1 29999"]),
        ("Usage: java -jar answerd.jar PORT\n", ["29999"]),
        (ARGPARSE, ["--port 29999 ."]),
        (WRAPPED_ARGPARSE, ["29999"]),
        (WRAPPED_ARGPARSE.replace("[--verbose]", "[--port PORT]").replace("  port\n", "  root\n"), ["--port 29999 ."]),
        (OPTIONS, ["--port 29999 ."]),
        (GO_FLAGS, ["-addr 127.0.0.1:29999"]),
        (MEMCACHED, ["--port=29999"]),
        ("Error: missing option\n  -p <n>  port number (required)\n", ["-p 29999"]),
    ],
)
def test_the_port_has_a_place_or_an_option(text: str, arguments: list[str]) -> None:
    assert list_port_arguments(text, 29_999) == arguments


@pytest.mark.parametrize(
    "text",
    [
        "",
        "usage: convert FILE\n",
        "usage: convert [--report FILE] [--export] IMPORT\n",
        "usage: answerd PORT DATABASE\n",
        "usage: lint FILE\n  --support   Print the supported formats\n  -p   Print\n",
        "The port is closed\n",
        "usage: answerd -x';{y} PORT\n",
        "usage: answerd --$(y)=PORT\n",
        "Usage:\n",
        WRAPPED_ARGPARSE.replace("[--verbose]", "[--port PORT]").replace("  port\n", "  database\n"),
    ],
)
def test_other_programs_get_no_port(text: str) -> None:
    assert list_port_arguments(text, 29_999) == []


@given(st.text(alphabet="ab-p=[]<>{}'\"$;| \n:PORTusage", max_size=60))
def test_arguments_need_no_quotes(text: str) -> None:
    for arguments in list_port_arguments(f"usage: x {text}", 29_999):
        assert re.fullmatch(r"[\w.:= -]+", arguments)


def test_a_long_text_is_read_quickly() -> None:
    for text in (
        "usage: " + "[" * 100_000,
        "usage: " + "a-port" * 50_000,
        "usage: x " + "port_" * 100_000,
        "-p " * 99_999,
    ):
        list_port_arguments(text, 29_999)
