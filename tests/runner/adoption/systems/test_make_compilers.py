import pytest

from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources
from runner.adoption.systems import make_compilers
from runner.adoption.systems.make_compilers import replace_foreign_options, replace_missing_compiler
from tests.runner.adoption.listings import listing

MAKEFILE = "CXX = /usr/local/bin/g++\nLINKER=$(CXX)\nSERCXX ?= mpig++ -DUSE_MPI=1\nFC=ifort\nTOOL = ragel\n"


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Sources:
    installed = {"c++", "cc", "mpicxx"}
    monkeypatch.setattr(make_compilers.shutil, "which", lambda name, path: name if name in installed else None)
    return listing({"Makefile": MAKEFILE})


@pytest.mark.parametrize(
    ("log", "command"),
    [
        ("make: /usr/local/bin/g++: No such file or directory", "sh -c 'make CXX=c++ -j$(nproc)'"),
        ("/bin/sh: 1: mpig++: not found", "sh -c 'make SERCXX=mpicxx -j$(nproc)'"),
        ("make[2]: ifort: No such file or directory", None),
        ("make: ragel: No such file or directory", None),
        ("make: icc: No such file or directory", None),
        ("main.c:1:1: error: unknown type", None),
    ],
)
def test_a_compiler_that_only_the_makefile_knows_is_replaced(log: str, command: str | None, sources: Sources) -> None:
    build = BuildProposal("Make", "sh -c 'make -j$(nproc)'")
    replaced = replace_missing_compiler(build, sources, f"compiling\n{log}\nmake: *** [main.o] Error 127\n")
    assert (replaced.command if replaced else None) == command
    if replaced:
        assert replace_missing_compiler(replaced, sources, log) is None, "it is replaced once"


def test_only_builds_with_make_are_changed(sources: Sources) -> None:
    log = "make: /usr/local/bin/g++: No such file or directory"
    assert replace_missing_compiler(BuildProposal("CMake", "cmake --build build"), sources, log) is None


@pytest.mark.parametrize(
    ("log", "command"),
    [
        (
            "g++: error: unrecognized command-line option '-fast'; did you mean '-Ofast'?\n",
            "sh -c 'make \"OPT=-O3 -g\" OMP=-fopenmp -j$(nproc)'",
        ),
        ("clang: error: unknown argument: '-fast'\n", "sh -c 'make \"OPT=-O3 -g\" OMP=-fopenmp -j$(nproc)'"),
        ("g++: error: unrecognized command-line option '-xHost'\n", "sh -c 'make OMP=-fopenmp -j$(nproc)'"),
        ("main.cc:1:1: error: unknown type\n", None),
    ],
)
def test_options_of_another_compiler_are_left_out(log: str, command: str | None) -> None:
    text = 'CXX := mpicxx\nOPT := -O3 -fast -g\nOMP := -openmp\nCXXFLAGS := $(OPT) -fast\nNAME := "-fast"\n'
    sources, build = listing({"Makefile": text}), BuildProposal("Make", "sh -c 'make -j$(nproc)'")
    changed = replace_foreign_options(build, sources, log)
    assert (changed.command if changed else None) == command
    assert replace_foreign_options(BuildProposal("CMake", "cmake --build build"), sources, log) is None
    if changed:
        assert replace_foreign_options(changed, sources, log) is None, "they are left out once"
