"""What is tried after a build has failed."""

from pathlib import Path

import pytest

from runner.adoption.build_retries import list_build_retries
from runner.adoption.proposal import JOBS_OPTION, BuildProposal
from runner.adoption.systems import cmake
from runner.contract.report import Build
from runner.subject.build import BuildFailure
from runner.subject.missing_packages import MissingPart
from tests.runner.adoption.listings import listing

FAILURE = BuildFailure("exit code 2", Build())


def test_a_build_that_fails_for_an_unknown_reason_is_tried_with_one_job() -> None:
    parallel = BuildProposal("Make", f"make {JOBS_OPTION}")
    (serial,) = list_build_retries(listing({}), parallel, FAILURE, None)
    assert serial.command.split() == ["make"]
    assert list_build_retries(listing({}), serial, FAILURE, None) == []


def test_a_build_that_lacks_a_library_is_tried_without_the_part_that_needs_it() -> None:
    sources = listing({"CMakeLists.txt": 'project(s C)\noption(WITH_OGG "o" ON)\n'})
    (proposal, *_) = cmake.propose(sources)
    (reduced,) = list_build_retries(sources, proposal, FAILURE, MissingPart("ogg", None))
    assert "-DWITH_OGG=OFF" in reduced.command
    assert JOBS_OPTION in proposal.command, "one job would not help"


def test_a_build_that_lacks_a_tool_is_tried_with_that_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "frob").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    proposal = BuildProposal("Make", f"make {JOBS_OPTION}")
    (extended,) = list_build_retries(listing({}), proposal, FAILURE, MissingPart("frob", None, tool="frob"))
    assert extended.command == proposal.command
    assert extended.environment["PATH"].startswith(f"{tmp_path}:")


@pytest.mark.parametrize(
    ("error", "standard"),
    [
        ("x.h:24:24: error: 'is_standard_layout_v' is not a member of 'std'; did you mean 'is_standard_layout'?", 17),
        ("x.h:2:8: error: no template named 'optional' in namespace 'std'; did you mean", 17),
        ("note: 'std::span' is only available from C++20 onwards", 20),
        ("error: inline variables are only available with '-std=c++17' or '-std=gnu++17'", 17),
        ("error: 'frob' was not declared in this scope", None),
    ],
)
def test_a_cmake_build_with_an_old_standard_of_cxx_is_tried_once_with_a_later_one(
    error: str, standard: int | None
) -> None:
    sources = listing({"CMakeLists.txt": "project(s CXX)\n"})
    (proposal, *_) = cmake.propose(sources)
    failure = BuildFailure("exit code 2", Build(log=f"{error}\n"))
    (retry,) = list_build_retries(sources, proposal, failure, None)
    assert (f"-DCMAKE_CXX_STANDARD={standard} " in retry.command) is bool(standard)
    further_retries = list_build_retries(sources, retry, failure, None)
    assert not any(other.command.count("CXX_STANDARD") > bool(standard) for other in further_retries)
