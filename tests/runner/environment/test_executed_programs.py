"""Only what a build executes is a tool: a word that happens to be a program's name is none."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.environment.executed_programs import find_executed_programs

HOST = {"make", "install", "test", "pip", "python3", "go", "cargo", "gcc-14", "clang-19", "ccache", "nproc", "git"} | {
    *("sh", "bash", "env", "nice", "timeout", "find", "xargs", "cp", "cmake", "sort", "link", "time", "split"),
}


def tools(*command: str, **environment: str) -> set[str]:
    return find_executed_programs(command, environment, HOST.__contains__) & HOST


def script(text: str) -> set[str]:
    return tools("sh", "-c", text) - {"sh"}


@pytest.mark.parametrize(
    ("command", "executed"),
    [
        ("make install", {"make"}),
        ("go test -c -o bin/benchmarks ./.", {"go"}),
        ("python3 setup.py install", {"python3"}),
        ("venv/bin/python -m pip install --quiet .", set()),
        ("/usr/bin/gcc-14 -o install link.c", {"gcc-14"}),
        ("./install", set()),
        ("env CC=gcc-14 make test", {"env", "gcc-14", "make"}),
        ("nice -n 10 timeout 60 make install", {"nice", "timeout", "make"}),
        ("make CC=gcc-14 test", {"make", "gcc-14"}),
        ("cmake -S . -B build -DCMAKE_C_COMPILER=clang-19 -DBUILD=test", {"cmake", "clang-19"}),
        ("cmake -DCMAKE_C_COMPILER_LAUNCHER:STRING=ccache .", {"cmake", "ccache"}),
        ("bash -ec make", {"bash", "make"}),
        ("bash -eo pipefail -c make", {"bash", "make"}),
        ("bash -o pipefail -O extglob -c make", {"bash", "make"}),
        ("bash -euco pipefail make", {"bash", "make"}),
        ("bash -c -e make", {"bash", "make"}),
        ("sh +e -c make", {"sh", "make"}),
        ("bash -eo pipefail make.sh", {"bash"}),
        ("sh autogen.sh install", {"sh"}),
    ],
)
def test_of_a_plain_command_the_program_counts_and_what_a_variable_names(command: str, executed: set[str]) -> None:
    assert tools(*command.split()) == executed


@pytest.mark.parametrize(
    ("text", "executed"),
    [
        ("cd test && make -j$(nproc) install", {"make", "nproc"}),
        ("test -f install || make test; git describe", {"make", "git"}),
        ('make VERSION="$(git describe --tags | sort)" test', {"make", "git", "sort"}),
        ("make VERSION=`git describe` test", {"make", "git"}),
        ("CC='ccache gcc-14 -m32' make install", {"make", "ccache", "gcc-14"}),
        ("if test -f go; then go build; else cargo build; fi", {"go", "cargo"}),
        ("for test in install link; do make $test; done", {"make"}),
        ("{ python3 -m pip install x || { make; cargo install; }; }", {"python3", "make", "cargo"}),
        ("(cd x; make) >test 2>&1 && exec go build >>install", {"make", "go"}),
        ("# install\nmake # test\ngo \\\n install", {"make", "go"}),
        ("echo 'a; install' \"b && test\" make", set()),
        ("find . -name install -exec cp {} test ';'", {"find", "cp"}),
        ("find . | xargs -n 1 cp -t install", {"find", "xargs", "cp"}),
        ("exec sh -c 'make test'", {"make"}),
        ("printf '%s' '$(git describe)'", set()),
        ("! git diff --quiet & wait", {"git"}),
        ("time -p make && command -p go build", {"make", "go"}),
        ("function build { make; }; build", {"make"}),
    ],
)
def test_of_a_script_what_stands_where_the_shell_expects_a_program(text: str, executed: set[str]) -> None:
    assert script(text) == executed


def test_a_variable_of_the_build_names_a_tool() -> None:
    assert tools("make", CC="gcc-14", NOTE="install") == {"make", "gcc-14"}


@given(st.lists(st.text(max_size=80), max_size=4))
def test_any_command_is_read(command: list[str]) -> None:
    assert all(isinstance(name, str) for name in find_executed_programs(["sh", "-c", *command], {}, lambda _: False))


def test_no_long_command_takes_long() -> None:
    for piece in ("$(", "'", '"', "`", "\\", "a=", "((", "$((a)", "<<", "#", "-D", "nice ", "exec ", "sh -c "):
        began = time.process_time()
        script(piece * 5000)
        assert time.process_time() - began < 2, piece
