import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.adoption.build_system_detection import explain_missing_build, propose_builds
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.workload_text import render_workload
from tests.runner.adoption.listings import listing

PROJECTS = {
    "autotools": "Autotools",
    "cargo": "Cargo",
    "cmake": "CMake",
    "compiler_cache": "Make",
    "fortran": "CMake",
    "go": "Go",
    "in_tree": "Make",
    "meson": "Meson",
    "python_extension": "Python",
}


@pytest.mark.parametrize(("case", "system"), PROJECTS.items())
def test_the_build_system_of_each_small_project_is_detected(case: str, system: str) -> None:
    files = importlib.import_module(f"tests.projects.cases.{case}").FILES
    assert propose_builds(listing(files))[0].system == system


def test_an_unknown_project_has_no_build_system() -> None:
    assert propose_builds(listing({"README": "Text.", "notes/2024.txt": "More."})) == []


def test_a_python_package_that_runs_meson_is_a_python_package() -> None:
    files = {"meson.build": "project('x', 'c')", "pyproject.toml": '[build-system]\nbuild-backend = "mesonpy"\n'}
    assert propose_builds(listing(files))[0].system == "Python"
    files["pyproject.toml"] = '[build-system]\nbuild-backend = "setuptools.build_meta"\n'
    assert propose_builds(listing(files))[0].system == "Meson"


def test_a_c_project_with_a_settings_file_of_a_python_tool_is_no_python_package() -> None:
    files = {"Makefile": "all:\n\tcc x.c\n", "pyproject.toml": "[tool.black]\n", "scripts/gen.py": ""}
    assert {proposal.system for proposal in propose_builds(listing(files))} == {"Make"}


NAMES = ["CMakeLists.txt", "meson.build", "configure.ac", "configure", "Makefile", "Cargo.toml", "go.mod", "x.f90"]
NAMES += ["pyproject.toml", "setup.py", "bench/bench_x.py", "x_test.go", "main.go", "fpm.toml", "meson.options"]
NAMES += ["package.json", "pom.xml", "App.java", "it's/Main.java", "run.sh"]
ODD_FOLDERS = ["it's", "two words", "$(id)", "a;b"]
BUILDABLE = {
    "CMakeLists.txt": "project(x C)",
    "meson.build": "project('x', 'c')",
    "Makefile": "all:\n\tcc x.c\n",
    "go.mod": "module x",
    "main.go": "package main\nfunc main() {}\n",
    "x.f90": "program x\nend program\n",
    "bench/bench_x.py": "print(1)\n",
    "__init__.py": "",
    "__main__.py": "",
    "tests/test_x.py": "",
}
"""What each build system looks for, also in a folder."""


@pytest.mark.parametrize("folder", ODD_FOLDERS)
@pytest.mark.parametrize("name", BUILDABLE)
def test_a_path_that_needs_quotes_is_in_no_command(name: str, folder: str) -> None:
    files = {"pyproject.toml": "[project]\nname = 'x'\n", "go.mod": "module x"} if name != "go.mod" else {}
    files |= {f"{folder}/{name}": BUILDABLE[name]}
    assert_valid(files)
    for proposal in propose_builds(listing(files)):
        assert folder not in " ".join((proposal.command, *(run.command for run in proposal.runs)))


def test_the_name_of_an_installed_command_that_needs_quotes_is_left_out() -> None:
    scripts = "[project.scripts]\n\"it's\" = 'x:y'\n'a b' = 'x:y'\ngood = 'x:y'\n"
    proposal = propose_builds(listing({"pyproject.toml": f"[project]\nname = 'x'\n{scripts}"}))[0]
    assert {run.program for run in proposal.runs} == {"venv/bin/good", 'venv/bin/python -c "import x"'}


@pytest.mark.parametrize("name", ["Cargo.toml", "pyproject.toml"])
def test_a_file_that_is_nested_too_deeply_proposes_nothing(name: str) -> None:
    assert propose_builds(listing({name: f"a = {'[' * 100_000}"})) == (propose_builds(listing({name: ""})))


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=60)))
def test_whatever_the_files_contain_each_proposal_makes_a_valid_workload_file(files: dict[str, str]) -> None:
    assert_valid(files)


def assert_valid(files: dict[str, str]) -> None:
    import tomllib

    from runner.workload import Workload

    for proposal in propose_builds(listing(files)):
        for run in proposal.runs or (RunProposal("./x"),):
            Workload.model_validate(tomllib.loads(render_workload("x", proposal, run)))


@given(st.text(), st.text(min_size=1), st.dictionaries(st.from_regex(r"[A-Z]{1,5}", fullmatch=True), st.text()))
def test_every_text_survives_in_a_workload_file(build: str, run: str, variables: dict[str, str]) -> None:
    import tomllib

    text = render_workload("x", BuildProposal("Make", build, environment=variables), RunProposal(run))
    document = tomllib.loads(text)
    assert document.get("build", {}).get("command", "") == build
    assert document["run"]["command"] == run.replace("{", "{{").replace("}", "}}")
    if build:
        assert document["build"].get("environment", {}) == variables


def test_a_makefile_around_go_does_not_give_the_build_a_history() -> None:
    # With one, go would write the commit into each program, and no build could be used for two revisions.
    files = {"Makefile": "VERSION := $(shell git describe)\nall:\n", "go.mod": "module m\n"}
    files["main.go"] = "package main\n\nfunc main() {}\n"
    first = propose_builds(listing(files))[0]
    assert (first.system, first.git) == ("Go", False)


def test_the_build_at_the_top_comes_before_that_of_a_folder() -> None:
    files = {"Makefile": "all:\n", "build/cmake/CMakeLists.txt": "project(x C)\n"}
    files["build/meson/meson.build"] = "project('x', 'c')"
    systems = [proposal.system for proposal in propose_builds(listing(files))]
    assert list(dict.fromkeys(systems)) == ["Make", "CMake", "Meson"]
    files = {"p/make/Makefile": "x:\n", "bench/bench_port.py": "work()\n"}
    assert [proposal.system for proposal in propose_builds(listing(files))] == ["Make", "Python"]
    files = {"Makefile": "all:\n", "CMakeLists.txt": "project(x C)\n"}
    assert propose_builds(listing(files))[0].system == "CMake"


def test_a_project_that_names_nothing_to_run_is_told_what_was_found() -> None:
    assert explain_missing_build(listing({"main.zig": ""})).startswith("has no build system that init knows (CMake, ")
    for name in ("GNUmakefile", "makefile"):
        assert explain_missing_build(listing({name: "all:\n\tdocker build .\n"})) == (
            f"has nothing that init can build and run: {name} names no program or benchmark"
        )
    assert explain_missing_build(listing({"package.json": "{}", "vendor/x/Makefile": ""})) == (
        "has nothing that init can build and run: package.json names no benchmark, start script, `bin` program, "
        "`main` module or known test runner"
    )
    assert explain_missing_build(listing({"package.json": "{", "x/package.json": "{}"})) == (
        "has nothing that init can build and run: package.json cannot be read as a JSON object"
    )
    assert explain_missing_build(listing({"x/package.json": '{"scripts": {"bench": "node x.js"}}'})) == (
        "has nothing that init can build and run: x/package.json is ignored, because none is at the top"
    )
    members = {"package.json": "{}", "x/package.json": '{"scripts": {"start": "node x.js"}}'}
    assert explain_missing_build(listing(members)).endswith(
        "known test runner, and x/package.json names no `bin` program or `main` module"
    )
    assert explain_missing_build(listing({"pom.xml": "", "src/main/java/Parser.java": "class Parser {}"})) == (
        "has nothing that init can build and run: pom.xml builds no class with a main method outside tests and "
        "examples, and no JUnit tests in src/test/java"
    )
    assert explain_missing_build(listing({"package.json": "{}", "x/pom.xml": ""})) == (
        "has nothing that init can build and run: package.json and x/pom.xml name no program or benchmark"
    )
