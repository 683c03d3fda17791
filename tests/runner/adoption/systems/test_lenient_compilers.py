import pytest

from runner.adoption.build_retries import list_build_retries
from runner.adoption.proposal import BuildProposal
from runner.adoption.systems.lenient_compilers import accept_rejected_code, names_option
from runner.contract.report import Build
from runner.subject.build import BuildFailure
from tests.runner.adoption.listings import listing

MAKE = BuildProposal("Make", "sh -c 'make -j$(nproc)'")
FRIEND = "./core/types.h:55:16: error: friend declaration of 'f' specifies default arguments [-fpermissive]"
UNUSED = "a/b.c:1:2: error: unused variable 'x' [-Werror=unused-variable]"


@pytest.mark.parametrize(
    ("log", "command"),
    [
        (FRIEND, "sh -c 'make \"CXX=c++ -fpermissive\" -j$(nproc)'"),
        (UNUSED, "sh -c 'make \"CC=gcc -m64 -Wno-error=unused-variable\" -j$(nproc)'"),
        (
            "a.c:1:2: error: implicit declaration of function 'f' [-Wimplicit-function-declaration]",
            "sh -c 'make \"CC=gcc -m64 -Wno-error=implicit-function-declaration\" -j$(nproc)'",
        ),
        (
            "a.h:1:2: error: unused [-Werror,-Wunused-variable]",
            'sh -c \'make "CC=gcc -m64 -Wno-error=unused-variable" "CXX=c++ -Wno-error=unused-variable" -j$(nproc)\'',
        ),
        (f"{FRIEND}\nb.cc:1:2: error: 'frob' was not declared in this scope", None),
        ("make: *** [a.o] Error 1", None),
    ],
)
def test_old_code_is_accepted_with_the_options_that_the_compiler_names(log: str, command: str | None) -> None:
    sources = listing({"Makefile": "CC = gcc -m64\nCXX ?= $(CROSS)g++\n"})
    retry = accept_rejected_code(MAKE, sources, f"cc -c a.c\n{log}\n")
    assert (retry.command if retry else None) == command


def test_a_retry_that_meets_other_errors_keeps_its_options_and_one_that_meets_the_same_is_the_last() -> None:
    first = accept_rejected_code(MAKE, listing({}), UNUSED)
    assert first
    assert accept_rejected_code(first, listing({}), UNUSED) is None
    second = accept_rejected_code(first, listing({}), "a.c:3:4: error: set but not used [-Werror=unused-but-set]")
    assert second
    assert second.command.count("CC=") == 1
    assert "-Wno-error=unused-variable -Wno-error=unused-but-set" in second.command


def test_other_build_systems_get_the_compiler_in_their_environment() -> None:
    build = BuildProposal("CMake", "cmake -B build", environment={"A": "1"})
    failure = BuildFailure("exit code 2", Build(log=f"{FRIEND}\n"))
    (retry,) = list_build_retries(listing({}), build, failure, None)
    assert retry.environment == {"A": "1", "CXX": "c++ -fpermissive"}
    assert accept_rejected_code(BuildProposal("Cargo", "cargo build"), listing({}), FRIEND) is None


def test_errors_that_name_an_option_are_recognised() -> None:
    assert names_option(FRIEND)
    assert not names_option("a.c:1:2: error: expected ';' before 'x'")
