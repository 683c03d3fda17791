"""`faultwatch init --yes` adopts each small project without a workload file: it builds, measures and writes."""

import http.server
import importlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.workload import load_workload
from tests.projects.project import FAULTWATCH, FEW, MOVED, Project
from tests.runner.commands import compiled_programs

EVERYTHING = "FAULTWATCH_TEST_PROJECTS" in os.environ
CASES = {
    "autotools": "./program",
    "cargo": "target/release/program",
    "cmake": "build/program",
    "compiler_cache": "./program",
    "fortran": "build/program",
    "go": "bin/program",
    "in_tree": "./program",
    "meson": "build/program",
    "python_extension": "venv/bin/python -m package",
}
"""By project: the command that init chooses."""
FAST = ("in_tree",)
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"

pytestmark = [pytest.mark.perf, pytest.mark.timeout(900)]


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="init-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def init(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return faultwatch(folder, "init", "--repo", str(folder / "project"), *words)


def faultwatch(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    with compiled_programs(folder / "faultwatch"):
        return subprocess.run(
            [str(FAULTWATCH), *words],
            cwd=folder / "project",
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={
                "PATH": os.environ["PATH"],
                "HOME": os.environ["HOME"],
                "FAULTWATCH_HOME": str(folder / "faultwatch"),
                "FAULTWATCH_HOST_LOCK": str(folder),
            },
        )


@pytest.mark.parametrize("name", CASES if EVERYTHING else FAST)
def test_a_project_is_adopted_without_a_question(name: str, folder: Path) -> None:
    case = importlib.import_module(f"tests.projects.cases.{name}")
    missing = [tool for tool in case.TOOLS if not shutil.which(tool, path=f"{os.environ['PATH']}:{SYSTEM_PATH}")]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not here; make test-projects installs it")
    project = Project(folder / "project")
    case.grow(project)
    project.git("rm", "--quiet", "workload.toml")
    project.git("commit", "--quiet", "--message", "Without a workload file")
    before = set(project.git("ls-files").splitlines())

    done = init(folder, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    (report,) = result["reports"]
    counts = [sample["readings"]["minor-faults"]["value"] for sample in report["samples"]]
    assert len(counts) >= 3
    assert min(counts) >= FEW + MOVED, "the program that touches the pages was chosen"
    assert load_workload(project.folder).run.command == tuple(CASES[name].split())
    assert result["gate"]["problem"] == "", "it builds in the gate's sandbox too"
    assert result["written"] == ["workload.toml", ".faultwatch/workload.schema.json", "faultwatch-gate.sh"]
    assert not project.git("status", "--porcelain", "--untracked-files=no"), "nothing of the user's has changed"
    untracked = project.git("ls-files", "--others").splitlines()
    assert set(untracked) == set(result["written"]), "and nothing else is left in the work tree"
    assert set(project.git("ls-files").splitlines()) == before

    if name in FAST:
        gate = ("gate", "--repo", str(project.folder), "--json", "--samples", "2", "workload.toml", "HEAD~1..HEAD")
        answer = json.loads(faultwatch(folder, *gate).stdout)
        assert answer["cases"][0]["head"]["build"]["cached"], "the first gate uses what init built for it"
        (project.folder / "faultwatch-gate.sh").write_text("mine\n")
        text = (project.folder / "workload.toml").read_text().replace('"./program"', '"./program again"')
        (project.folder / "workload.toml").write_text(text)
        done = init(folder, "--yes", "--json")
        assert json.loads(done.stdout)["written"] == [], done.stderr
        assert json.loads(done.stdout)["reports"][0]["command"] == ["./program", "again"], (
            "the existing file is measured"
        )
        assert json.loads(done.stdout)["reports"][0]["build"]["cached"], "another [run] needs no other build"
        assert (project.folder / "faultwatch-gate.sh").read_text() == "mine\n"
        assert (project.folder / "workload.toml").read_text() == text


def test_without_a_terminal_nothing_is_asked_and_one_line_says_so(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"Makefile": "all:\n\ttrue\n", "CMakeLists.txt": "project(x)\n"})
    done = init(folder)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("→ pass --yes to use all defaults")
    assert not project.git("ls-files", "--others")


def test_without_a_terminal_a_question_about_the_ci_is_not_asked_after_measuring(folder: Path) -> None:
    project = Project(folder / "project")
    makefile = "program: main.c\n\tcc -o $@ main.c\n"
    project.commit("Start", {"Makefile": makefile, "main.c": "int main(void) { return 0; }\n"})
    done = init(folder, "--build", "make", "--run", "./program")
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("→ pass --yes to use all defaults")
    assert not project.git("ls-files", "--others")


@pytest.mark.thorough
def test_submodules_that_cannot_be_fetched_are_done_without(folder: Path) -> None:
    project = Project(folder / "project")
    program = "program: main.c\n\tcc -o $@ main.c\n"
    source = "int main(int n, char **words) { return n > 1 && puts(words[1]) ? 1 : 0; }\n"
    files = {"Makefile": program, "main.c": "#include <stdio.h>\n" + source, "LICENSE": "Any.\n", "README": "What.\n"}
    files[".gitmodules"] = '[submodule "deps"]\n\tpath = deps\n\turl = https://[::1]:1/deps\n'
    (project.folder / "deps").mkdir()
    project.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},deps")
    project.commit("Start", files)
    done = init(folder, "--yes")
    assert done.returncode == 0, done.stderr
    assert "this clone lacks the submodule deps\n" in done.stderr
    assert "unable to access" in done.stderr, "the cause"
    assert "./program LICENSE: ended with exit code 1: LICENSE\n" in done.stderr, "its own words"
    assert "`./program` gets no input, so it may do nothing but start up" in done.stdout
    assert load_workload(project.folder).build.incomplete

    done = init(folder, "--yes")
    assert done.returncode == 0, done.stderr
    assert "submodules" not in done.stderr, "the file says that they are not needed"
    file = project.folder / "workload.toml"
    file.write_text(file.read_text().replace("incomplete = true", ""))
    done = init(folder, "--yes")
    assert done.returncode == 2
    assert "unable to access" in done.stderr
    assert "incomplete = true" in done.stderr.splitlines()[-1]


DRIVER = """
[workload]
name = "sums"
[build]
command = "sh -c 'make && cc -I. -o sums {workload}/sums.c library.o'"
incomplete = true
[run]
command = "./sums"
huge_pages = "never"
"""


@pytest.mark.thorough
def test_a_library_whose_submodules_are_missing_is_adopted_with_a_driver_of_ones_own(folder: Path) -> None:
    project = Project(folder / "project")
    (project.folder / "deps").mkdir()
    project.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},deps")
    library = {"Makefile": "library.o: library.c\n\tcc -c library.c\n", "library.c": "int one(void) { return 1; }\n"}
    link = {".gitmodules": '[submodule "deps"]\n\tpath = deps\n\turl = https://[::1]:1/deps\n'}
    project.commit("Start", library | link)
    done = init(folder, "--yes")
    assert done.returncode == 2
    hint = done.stderr.splitlines()[-1]
    assert "write a small driver" in hint
    assert "`faultwatch init FOLDER`" in hint
    assert "`incomplete = true`" in hint
    place = project.folder / "faultwatch"
    place.mkdir()
    (place / "sums.c").write_text("int one(void);\nint main(void) { return one() - 1; }\n")
    (place / "workload.toml").write_text(DRIVER)
    done = init(folder, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["written"] == ["faultwatch-gate.sh"], "the workload file is kept"
    assert result["gate"]["problem"] == ""
    assert len(result["reports"][0]["samples"]) >= 3
    assert "-- faultwatch/workload.toml " in (project.folder / "faultwatch-gate.sh").read_text()


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_a_build_that_downloads_is_told_what_the_gate_lacks_though_it_was_named(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"main.c": "int main(void) { return 0; }\n"})
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        build = f"sh -c 'curl -fsSo page http://127.0.0.1:{server.server_port}/ && cc -o program main.c'"
        done = init(folder, "--yes", "--json", "--build", build, "--run", "./program")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert (
        "a build in the sandbox has no network: commit the files that it "
        "downloads" in json.loads(done.stdout)["gate"]["problem"]
    )
    assert "the workload does not build in the gate's sandbox: " in done.stderr


def test_what_failed_of_a_named_build_is_said_rather_than_to_name_one(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"main.c": "int main(void) { return 0; }\n"})
    done = init(folder, "--yes", "--build", "cc -o program nothing.c", "--run", "./program")
    assert done.returncode == 2
    assert "`cc -o program nothing.c` ended with exit code 1" in done.stderr
    assert "nothing.c" in done.stderr
    assert done.stderr.rstrip().endswith("→ correct --build 'cc -o program nothing.c'")


@pytest.mark.parametrize(
    "use",
    [
        pytest.param('fopen(words[1], "r") ? remove(words[1]) : 1', id="removes"),
        pytest.param(
            'fopen(words[1], "r") && fopen("LICENSE.packed", "wx") ? 0 : 1', id="leaves", marks=pytest.mark.thorough
        ),
    ],
)
def test_a_program_finds_its_input_at_each_execution_whatever_it_does_to_its_folder(folder: Path, use: str) -> None:
    source = f"""#include <stdio.h>
int main(int n, char **words) {{
    return n > 1 ? {use} : 1;
}}
"""
    project = Project(folder / "project")
    files = {"Makefile": "project: main.c\n\tcc -o $@ main.c\n", "main.c": source, "LICENSE": "Any.\n"}
    project.commit("Start", files)
    done = init(folder, "--yes")
    assert done.returncode == 0, done.stderr
    assert load_workload(project.folder).run.command == ("./project", "LICENSE")


@pytest.mark.thorough
def test_a_program_that_only_prints_its_usage_gives_way_to_one_that_works(folder: Path) -> None:
    usage = '#include <stdio.h>\nint main(int n, char **words) { puts("usage: project COMMAND"); return n > 1; }\n'
    rules = "all: project test_sums\nproject: main.c\n\tcc -o $@ main.c\ntest_sums: sums.c\n\tcc -o $@ sums.c\n"
    project = Project(folder / "project")
    project.commit("Start", {"Makefile": rules, "main.c": usage, "sums.c": usage, "LICENSE": "Any.\n"})
    done = init(folder, "--yes")
    assert done.returncode == 0, done.stderr
    assert "./project: " in done.stderr
    assert "minor faults, but it only prints its usage" in done.stderr
    assert "exec ./project < LICENSE': the output is the same as without the file" in done.stderr
    assert load_workload(project.folder).run.command == ("./project",)
    assert "`./project` only prints its usage, so this counts little more than the program's start-up" in done.stdout
    assert "as in `./project … INPUT`" in done.stdout

    (project.folder / "workload.toml").unlink()
    complaint = 'if (fgets(x, 9, stdin)) puts("error: no program"); return n > 1; }\n'
    project.commit("Read", {"main.c": "#include <stdio.h>\nchar x[9];\nint main(int n, char **words) { " + complaint})
    done = init(folder, "--yes")
    assert "exec ./project < LICENSE': succeeds, but prints: error: no program" in done.stderr
    assert load_workload(project.folder).run.command == ("./project",)

    (project.folder / "workload.toml").unlink()
    (project.folder / "main.c").write_text(usage)
    project.commit("Test", {"sums.c": "int main(void) { return 0; }\n"})
    done = init(folder, "--yes")
    assert done.returncode == 0, done.stderr
    assert load_workload(project.folder).run.command == ("./test_sums",)


def test_a_command_that_is_named_suffices_without_a_build_system(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"start.txt": "exec true\n"})
    done = init(folder, "--yes", "--run", "sh start.txt")
    assert done.returncode == 0, done.stderr
    workload = load_workload(project.folder)
    assert workload.run.command == ("sh", "start.txt")
    assert workload.build.command is None


def test_a_command_that_is_named_suffices_where_the_build_makes_no_program(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"Makefile": "library.o: library.c\n\tcc -c library.c\n", "library.c": "int one;\n"})
    done = init(folder, "--yes", "--run", "test -s library.o")
    assert done.returncode == 0, done.stderr
    assert load_workload(project.folder).run.command == ("test", "-s", "library.o")


def test_an_existing_workload_file_that_does_not_build_says_why(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"Makefile": "program:\n\tfalse # of course\n"})
    text = '[workload]\nname = "x"\n\n[build]\ncommand = "make program"\n\n[run]\ncommand = "./program"\n'
    (project.folder / "workload.toml").write_text(text)
    done = init(folder, "--yes")
    assert done.returncode == 2
    assert "workload.toml cannot be built at " in done.stderr
    assert "`make program` ended with exit code 2" in done.stderr
    assert "false # of course" in done.stderr
    assert done.stderr.rstrip().endswith(
        "→ correct the file, or remove it and pass the commands with --build and --run"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("place", ["workload.toml", "bench/driver/workload.toml"])
def test_commands_for_a_new_workload_file_are_refused_beside_one_that_stays(folder: Path, place: str) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"start.txt": "exec true\n"})
    text = '[workload]\nname = "x"\n\n[run]\ncommand = "sh start.txt"\n'
    (project.folder / place).parent.mkdir(parents=True, exist_ok=True)
    (project.folder / place).write_text(text)
    done = init(folder, "--yes", "--run", "true")
    assert done.returncode == 2
    what, remedy = done.stderr.splitlines()
    assert what.endswith(f"/project/{place} exists, but --build and --run are for a new file")
    assert "omit both options" in remedy
    assert [*project.folder.rglob("workload.toml")] == [project.folder / place]
    assert (project.folder / place).read_text() == text
    assert not (project.folder / "faultwatch-gate.sh").exists()


def test_a_repository_without_a_build_system_is_one_line(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"README": "What.\n"})
    done = init(folder, "--yes")
    assert done.returncode == 2
    assert "contains no source code, only files such as README\n  → the project may have moved" in done.stderr
    project.commit("Write", {"main.zig": "pub fn main() void {}\n"})
    done = init(folder, "--yes")
    assert done.returncode == 2
    assert "has no build system that init knows" in done.stderr
    assert not project.git("ls-files", "--others")
