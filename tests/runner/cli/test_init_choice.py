"""Which build and which command `faultwatch init` chooses, when the first ones do not work."""

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.proposal import BuildProposal, LoadProposal, RunProposal
from runner.adoption.tried_command import TriedCommand
from runner.cli import init_builds, init_choice
from runner.cli.init import (
    _assess_exactness,
    _describe_kept_ci_file,
    _describe_rejected_commands,
    _describe_server,
    _describe_weakness,
    _suggest_work,
    command,
)
from runner.cli.init_choice import BuildAndRunChoice
from runner.cli.questions import Questions
from runner.contract.report import Build, Reading, Sample
from runner.errors import FaultwatchError
from runner.subject.build import BuildFailure
from runner.subject.build_needs import find_missing_programs
from runner.workload import Workload
from tests.runner.adoption.listings import listing
from tests.runner.sample_reports import report

ALONE, BENCHMARK = RunProposal("bin/x --version", may_do_nothing=True), RunProposal("bin/benchmarks")
MISSING = "`python3 heat.py` ended with exit code 1: ModuleNotFoundError: No module named 'numpy'"


class Host:
    """Builds everything, and counts what it is said to count."""

    revision = type("", (), {"commit": "c" * 40})
    repository = type("", (), {"name": "x", "path": Path("x")})

    def __init__(self, counts: dict[tuple[str, str], tuple[int, ...]]) -> None:
        self.counts = counts
        self.built: list[str] = []
        self.sources = listing({})
        self.folder: tuple[str, int] | None = None
        self.made_input: tuple[BuildProposal, list[RunProposal]] | None = None

    def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
        self.built.append(proposal.command)
        return Path(proposal.command), cast("Build", type("", (), {"seconds": 1.0, "cached": False}))

    @contextmanager
    def extend_build(self, proposal: BuildProposal, step: str, tree: Path) -> Iterator[Path]:
        yield tree

    def get_input_size(self, run: RunProposal, tree: Path) -> int:
        return (tree / run.file).stat().st_size

    def list_run_proposals(self, proposal: BuildProposal, tree: Path) -> list[RunProposal]:
        return list(proposal.runs)

    def try_runs(self, proposal: BuildProposal, runs: list[RunProposal], tree: Path, say: object) -> list[TriedCommand]:
        counted = [(run, self.counts.get((proposal.command, run.command), ())) for run in runs]
        return [TriedCommand(run, faults, "" if faults else MISSING) for run, faults in counted]

    def propose_made_input(
        self, proposal: BuildProposal, tried: list[TriedCommand], tree: Path
    ) -> tuple[BuildProposal, list[RunProposal]] | None:
        return self.made_input

    def find_stable_environment(self, proposal: BuildProposal, tried: TriedCommand, tree: Path) -> TriedCommand:
        return tried

    def list_variables(self, proposal: BuildProposal, run: RunProposal) -> tuple[dict[str, str], ...]:
        return ({"OMP_NUM_THREADS": "1"},)

    def find_folder_to_copy(self, proposal: BuildProposal, tried: TriedCommand, tree: Path) -> tuple[str, int] | None:
        return self.folder

    def find_single_thread_command(
        self, proposal: BuildProposal, tried: TriedCommand, tree: Path
    ) -> TriedCommand | None:
        return TriedCommand(RunProposal(f"{tried.run.command} --threads 1"), (7, 7))


@pytest.fixture(autouse=True)
def ask_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the host answer in place of the trials."""
    for function in (
        "command_trials.try_runs",
        "input_trials.find_folder_to_copy",
        "input_trials.propose_made_input",
        "stable_count_trials.find_single_thread_command",
        "stable_count_trials.find_stable_environment",
        "stable_count_trials.list_variables",
    ):
        name = function.partition(".")[2]
        monkeypatch.setattr(
            f"runner.adoption.{function}", lambda host, *arguments, name=name: getattr(host, name)(*arguments)
        )


def choose(host: Host, monkeypatch: pytest.MonkeyPatch, *builds: BuildProposal, run: str | None = None) -> str:
    monkeypatch.setattr(init_choice, "list_proposals", lambda *_: list(builds))
    choice = init_choice.choose_build_and_run(cast("FirstMeasurement", host), Questions(silent=True), run=run)
    return f"{choice.proposal.command}: {choice.tried_command.run.command}"


def test_a_program_that_only_says_what_it_is_gives_way_to_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = BuildProposal("Go", "build", runs=(ALONE,)), BuildProposal("Go", "test", runs=(BENCHMARK,))
    host = Host({("build", ALONE.command): (5, 5), ("test", BENCHMARK.command): (9, 9)})
    assert choose(host, monkeypatch, *builds) == "test: bin/benchmarks"
    host = Host({("build", ALONE.command): (5, 5)})
    assert choose(host, monkeypatch, *builds) == "build: bin/x --version", "the benchmarks do not work"


def test_a_program_that_failed_when_it_was_measured_gives_way_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    other = RunProposal("venv/bin/python bench/b.py", program="bench/b.py")
    unreliable = RunProposal("venv/bin/python bench/a.py big.txt", program="bench/a.py")
    host = Host({("build", unreliable.command): (900, 900), ("build", other.command): (500, 500)})
    build = BuildProposal("Python", "build", runs=(unreliable, other))
    assert choose(host, monkeypatch, build) == f"build: {unreliable.command}"
    choice = init_choice.choose_build_and_run(
        cast("FirstMeasurement", host), Questions(silent=True), unreliable_command=f"{unreliable.command} larger.txt"
    )
    assert choice.tried_command.run == other


def test_a_count_that_varies_is_taken_with_the_programs_own_option_for_one_thread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host({("build", ALONE.command): (5, 6), ("build", "./mine"): (5, 6)})
    build = BuildProposal("Make", "build", runs=(ALONE,))
    assert choose(host, monkeypatch, build) == f"build: {ALONE.command} --threads 1"
    assert f"{ALONE.command} --threads 1: 7 minor faults; the count does not vary" in capsys.readouterr().err
    assert choose(host, monkeypatch, build, run="./mine") == "build: ./mine", "the user has chosen the options"


def test_the_next_build_may_install_what_the_program_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunProposal("python heat.py")
    builds = [BuildProposal("Python", name, runs=(run,)) for name in ("offline", "online")]
    host = Host({("online", run.command): (9, 9)})
    assert choose(host, monkeypatch, *builds) == "online: python heat.py"
    assert choose(host, monkeypatch, *builds, run=run.command) == "online: python heat.py"


def test_scripts_that_help_to_develop_a_program_are_not_installed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    script = RunProposal("python train.py")
    scripts = [BuildProposal("Python", name, runs=(script,), runs_loose_scripts=True) for name in ("offline", "online")]
    host = Host({("online", script.command): (9, 9)})
    with pytest.raises(FaultwatchError):
        choose(host, monkeypatch, BuildProposal("Make", "make", runs=(ALONE,)), *scripts)
    assert host.built == ["make"], "its program needs a file that the project lacks"
    assert choose(host, monkeypatch, BuildProposal("Make", "make"), *scripts) == "online: python train.py"


def test_a_missing_tool_is_named_even_if_helper_scripts_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    class LackingHost(Host):
        """Lacks a tool of the first build."""

        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            if proposal.system != "CMake":
                return super().build(proposal)
            log = "FileNotFoundError: [Errno 2] No such file or directory: 'protoc'\n"
            raise BuildFailure("cmake ended with exit code 2", Build(log=log))

    script = BuildProposal("Python", "install", runs=(RunProposal("python conanfile.py"),), runs_loose_scripts=True)
    with pytest.raises(FaultwatchError) as raised:
        choose(LackingHost({}), monkeypatch, BuildProposal("CMake", "cmake"), script)
    assert raised.value.remedy == (
        "protoc is missing: apt install protobuf-compiler, or dnf install protobuf-compiler; then start init again"
    )


def test_a_build_without_a_program_is_not_repeated_with_fewer_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = [
        BuildProposal("CMake", "usual"),
        BuildProposal("CMake", "reduced", is_reduced=True),
        BuildProposal("CMake", "tests", runs=(BENCHMARK,), builds_tests=True),
    ]
    host = Host({("tests", BENCHMARK.command): (9, 9)})
    assert choose(host, monkeypatch, *builds) == "tests: bin/benchmarks"
    assert host.built == ["usual", "tests"]


def test_a_package_that_is_only_imported_gives_way_to_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = RunProposal('venv/bin/python -c "import x"', may_do_nothing=True)
    tests = RunProposal("venv/bin/python -m pytest tests", may_do_nothing=True, is_test=True)
    builds = [
        *(BuildProposal("Python", name, runs=(imported,)) for name in ("offline", "online")),
        BuildProposal("Make", "make"),
        BuildProposal("Python", "tests", runs=(tests,)),
    ]
    host = Host({("offline", imported.command): (5, 5), ("tests", tests.command): (9, 9)})
    assert choose(host, monkeypatch, *builds) == "tests: venv/bin/python -m pytest tests"
    assert host.built == ["offline", "tests"]
    host = Host({("offline", imported.command): (5, 5)})
    assert choose(host, monkeypatch, *builds) == f"offline: {imported.command}", "the tests fail"


def test_a_small_input_is_repeated_if_the_program_then_does_more_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("make").mkdir()
    Path("make/a.md").write_bytes(bytes(1 << 16))
    build = BuildProposal("Make", "make", runs=(RunProposal("./x a.md", input_file="a.md"),))
    larger = "sh -c 'make && yes a.md | head -n 16 | xargs cat > faultwatch-input.md'"
    host = Host({("make", "./x a.md"): (70, 70), (larger, "./x faultwatch-input.md"): (700, 700)})
    assert choose(host, monkeypatch, build) == f"{larger}: ./x faultwatch-input.md"
    host = Host({("make", "./x a.md"): (70, 70), (larger, "./x faultwatch-input.md"): (75, 75)})
    assert choose(host, monkeypatch, build) == "make: ./x a.md"
    start = RunProposal("./x", may_do_nothing=True)
    host.counts = {("make", "./x"): (70, 70), ("make", "./x a.md"): (70, 70)}
    host.counts[(larger, "./x faultwatch-input.md")] = (700, 700)
    build = BuildProposal("Make", "make", runs=(start, *build.runs))
    assert choose(host, monkeypatch, build) == f"{larger}: ./x faultwatch-input.md", "the small one did not show"
    given_number = BuildProposal("Make", "make", runs=(replace(build.runs[1], passes_number=True),))
    assert choose(host, monkeypatch, given_number) == "make: ./x a.md", "its number makes it work"
    host.counts[("make", "./x a.md")] = (7000, 7000)
    host.built.clear()
    choose(host, monkeypatch, build)
    assert host.built == ["make"]


def test_a_program_that_is_slow_with_a_larger_input_gets_a_smaller_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class SlowReader(Host):
        """Takes long for many copies of its input."""

        def try_runs(self, proposal: BuildProposal, runs: list[RunProposal], *rest: Any) -> list[TriedCommand]:
            is_slow = "head -n 256" in proposal.command
            results = super().try_runs(proposal, runs, *rest)
            return [replace(result, seconds=4.0) for result in results] if is_slow else results

    monkeypatch.chdir(tmp_path)
    Path("make").mkdir()
    Path("make/a.md").write_bytes(bytes(1 << 12))
    build = BuildProposal("Make", "make", runs=(RunProposal("./x a.md", input_file="a.md"),))
    largest, smaller = (
        f"sh -c 'make && yes a.md | head -n {n_rounds} | xargs cat > faultwatch-input.md'" for n_rounds in (256, 64)
    )
    counts = {("make", "./x a.md"): (70, 70), (largest, "./x faultwatch-input.md"): (9000, 9000)}
    host = SlowReader(counts | {(smaller, "./x faultwatch-input.md"): (700, 700)})
    assert choose(host, monkeypatch, build) == f"{smaller}: ./x faultwatch-input.md"


@pytest.mark.parametrize(("faults", "n_rounds"), [(3000, 1024), (750, 256)])
def test_a_program_that_hardly_computes_with_a_larger_input_gets_a_still_larger_one(
    faults: int, n_rounds: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class QuickReader(Host):
        """Takes 50 ms for each larger input."""

        def try_runs(self, proposal: BuildProposal, runs: list[RunProposal], *rest: Any) -> list[TriedCommand]:
            seconds = 0.05 if "yes" in proposal.command else 0.002
            return [replace(result, cpu_seconds=seconds) for result in super().try_runs(proposal, runs, *rest)]

    monkeypatch.chdir(tmp_path)
    Path("make").mkdir()
    Path("make/a.md").write_bytes(bytes(1 << 12))
    build = BuildProposal("Make", "make", runs=(RunProposal("./x a.md", input_file="a.md"),))
    first, second = (
        f"sh -c 'make && yes a.md | head -n {number} | xargs cat > faultwatch-input.md'" for number in (256, 1024)
    )
    counts = {("make", "./x a.md"): (70, 70), (first, "./x faultwatch-input.md"): (700, 700)}
    host = QuickReader(counts | {(second, "./x faultwatch-input.md"): (faults, faults)})
    chosen = choose(host, monkeypatch, build)
    assert f"head -n {n_rounds} " in chosen, "a larger input is worth it only if it causes more work"


@pytest.mark.parametrize(("factor", "is_larger"), [(3, True), (1, False)])
def test_a_program_that_takes_somewhat_longer_with_a_larger_input_gets_a_still_larger_one(
    factor: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_larger: bool
) -> None:
    class Stream(Host):
        """Reads its input piece by piece, and takes most of its time to start."""

        def try_runs(self, proposal: BuildProposal, runs: list[RunProposal], *rest: Any) -> list[TriedCommand]:
            seconds = 0.004 if "yes" not in proposal.command else 0.004 * factor
            seconds *= 10 if "head -n 4096" in proposal.command else 1
            return [replace(result, cpu_seconds=seconds) for result in super().try_runs(proposal, runs, *rest)]

    monkeypatch.chdir(tmp_path)
    Path("make").mkdir()
    Path("make/a.md").write_bytes(bytes(1 << 12))
    build = BuildProposal("Make", "make", runs=(RunProposal("./x a.md", input_file="a.md"),))
    first, second = (
        f"sh -c 'make && yes a.md | head -n {number} | xargs cat > faultwatch-input.md'" for number in (256, 4096)
    )
    larger = "./x faultwatch-input.md"
    host = Stream({("make", "./x a.md"): (70, 70), (first, larger): (70, 70), (second, larger): (70, 70)})
    assert ("head -n 4096" in choose(host, monkeypatch, build)) is is_larger


def test_another_input_is_repeated_where_the_first_one_cannot_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("make").mkdir()
    for name in ("a.md", "b.md"):
        Path("make", name).write_bytes(bytes(1 << 16))
    runs = tuple(RunProposal(f"./x {name}", input_file=name) for name in ("a.md", "b.md"))
    larger = "sh -c 'make && yes b.md | head -n 16 | xargs cat > faultwatch-input.md'"
    counts = {("make", "./x a.md"): (75, 75), ("make", "./x b.md"): (70, 70)}
    host = Host(counts | {(larger, "./x faultwatch-input.md"): (700, 700)})
    assert choose(host, monkeypatch, BuildProposal("Make", "make", runs=runs)).startswith(larger)


def test_an_example_that_only_imports_gives_way_to_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    example = RunProposal("python examples/a.py", may_do_nothing=True, is_test=True)
    importing = RunProposal('python -c "import x"', may_do_nothing=True)
    tests = RunProposal("python -m pytest tests", may_do_nothing=True, is_test=True)
    builds = BuildProposal("Python", "own", runs=(example, importing)), BuildProposal("Python", "tests", runs=(tests,))
    counts = {("own", example.command): (2_797, 2_797), ("own", importing.command): (2_750, 2_750)}
    host = Host({**counts, ("tests", tests.command): (9_000, 9_000)})
    assert choose(host, monkeypatch, *builds) == "tests: python -m pytest tests"
    assert choose(Host(counts), monkeypatch, *builds) == "own: python examples/a.py", "the tests fail"


def test_a_program_that_works_more_without_an_input_is_compared_with_its_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guess = RunProposal("./x", may_do_nothing=True)
    given = RunProposal("./x a.md", input_file="a.md")
    builds = [BuildProposal("Make", "make", runs=(guess, given, RunProposal("./x --version", may_do_nothing=True)))]
    counts = {("make", "./x"): (7000, 7000), ("make", "./x a.md"): (3700, 3700), ("make", "./x --version"): (300, 300)}
    host = Host(counts)
    monkeypatch.setattr(init_choice, "list_proposals", lambda *_: list(builds))
    monkeypatch.setattr(init_choice, "_try_commands", lambda *_: host.try_runs(builds[0], [guess, given], Path(), ""))
    choice = init_choice.choose_build_and_run(cast("FirstMeasurement", host), Questions(silent=True))
    assert (choice.tried_command.run.command, choice.start_faults) == ("./x a.md", 300)


@pytest.mark.parametrize(("faults", "is_larger"), [(700, True), (75, False)])
def test_a_program_that_works_on_its_folder_gets_one_with_many_files(
    faults: int, monkeypatch: pytest.MonkeyPatch, *, is_larger: bool
) -> None:
    bare = RunProposal("bin/walk", may_do_nothing=True)
    larger = (
        "sh -c 'make && rm -rf faultwatch-files && mkdir -p faultwatch-files/empty && for copy in $(seq 9); do cp -r "
        "src faultwatch-files/$copy; done'"
    )
    in_folder = "sh -c 'cd faultwatch-files && exec ../bin/walk'"
    in_empty_folder = "sh -c 'cd faultwatch-files/empty && exec ../../bin/walk'"
    counts = {("make", bare.command): (72, 72), (larger, in_folder): (faults,) * 2, (larger, in_empty_folder): (70, 70)}
    host = Host(counts)
    host.folder = ("src", 9)
    chosen = choose(host, monkeypatch, BuildProposal("Make", "make", runs=(bare,)))
    assert chosen == (f"{larger}: {in_folder}" if is_larger else "make: bin/walk")


@pytest.mark.parametrize("small_faults", [72, 600])
def test_another_program_gets_the_larger_input_where_the_first_refuses_it(
    small_faults: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("make").mkdir()
    Path("make/a.md").write_bytes(bytes(1 << 16))
    larger = "sh -c 'make && yes a.md | head -n 16 | xargs cat > faultwatch-input.md'"
    counts = {("make", "./x a.md"): (75, 75), (larger, "./y a.md"): (small_faults,) * 2}
    host = Host(counts | {(larger, "./y faultwatch-input.md"): (700, 700)})
    runs = tuple(RunProposal(f"{program} a.md", input_file="a.md") for program in ("./x", "./y"))
    chosen = choose(host, monkeypatch, BuildProposal("Make", "make", runs=runs))
    expected = f"{larger}: ./y faultwatch-input.md" if small_faults == 72 else "make: ./x a.md"
    assert chosen == expected, "what a program takes without the larger input is not its work"


@pytest.mark.parametrize("faults", [900, 6000])
def test_a_larger_input_that_causes_less_work_than_another_input_is_not_proposed_and_the_project_not_built_again(
    faults: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("make").mkdir()
    Path("make/big.md").write_bytes(bytes(1 << 20))
    Path("make/a.md").write_bytes(bytes(1 << 16))
    larger = "sh -c 'make && yes a.md | head -n 16 | xargs cat > faultwatch-input.md'"
    counts = {("make", "./x big.md"): (faults, faults), ("make", "./x a.md"): (75, 75)}
    host = Host(counts | {(larger, "./x faultwatch-input.md"): (700, 700)})
    runs = tuple(RunProposal(f"./x {name}", input_file=name) for name in ("big.md", "a.md"))
    assert choose(host, monkeypatch, BuildProposal("Make", "make", runs=runs)) == "make: ./x big.md"
    assert set(host.built) == {"make"}


class SlowHost(Host):
    """Takes too long for the builds of some names."""

    def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
        if proposal.command.startswith("slow"):
            self.built.append(proposal.command)
            raise BuildFailure("`cmake` did not finish", Build(), timed_out=True)
        return super().build(proposal)


def test_after_a_build_that_takes_too_long_none_is_tried_that_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = BuildProposal("CMake", "slow", runs=(ALONE,)), BuildProposal("CMake", "slow with tests", builds_tests=True)
    less = BuildProposal("CMake", "less", runs=(BENCHMARK,))
    host = SlowHost({("less", BENCHMARK.command): (9, 9)})
    assert choose(host, monkeypatch, *slow, less) == "less: bin/benchmarks"
    assert host.built == ["slow", "less"]
    with pytest.raises(FaultwatchError, match="--target"):
        choose(SlowHost({}), monkeypatch, *slow)


class FailingHost(Host):
    """Fails to build what contains a word, with a log."""

    def __init__(self, word: str, log: str) -> None:
        super().__init__({("make", BENCHMARK.command): (9, 9)})
        self.word, self.log = word, log

    def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
        if self.word in proposal.command:
            self.built.append(proposal.command)
            raise BuildFailure("`make` ended with exit code 2", Build(log=self.log))
        return super().build(proposal)


def test_a_parallel_build_that_fails_is_tried_once_more_without(monkeypatch: pytest.MonkeyPatch) -> None:
    build = BuildProposal("Make", "sh -c 'make -j$(nproc)'", runs=(BENCHMARK,))
    assert choose(FailingHost("-j", "x.h is written twice"), monkeypatch, build) == "make: bin/benchmarks"
    host = FailingHost("make", "it never builds")
    with pytest.raises(FaultwatchError):
        choose(host, monkeypatch, build)
    assert host.built == [build.command, "make"]
    host.built.clear()
    with pytest.raises(FaultwatchError):
        choose(host, monkeypatch, build, replace(build, command="sh -c 'make -j$(nproc) tests'"))
    assert host.built == [build.command, "make", "sh -c 'make -j$(nproc) tests'"], "one job did not help before"


@pytest.mark.parametrize(
    ("log", "is_named"),
    [
        ("a.cpp:24:24: error: 'is_layout_v' is not a member of 'std'", True),
        ("Error: Symbol 'absolute' at (1) has no IMPLICIT type", True),
        ("x.h is written twice: error 2", False),
    ],
)
def test_a_compiler_that_rejects_the_code_may_be_too_old(
    log: str, monkeypatch: pytest.MonkeyPatch, *, is_named: bool
) -> None:
    with pytest.raises(FaultwatchError) as failure:
        choose(FailingHost("make", log), monkeypatch, BuildProposal("Make", "make", runs=(BENCHMARK,)))
    assert failure.value.remedy.startswith("install a newer compiler if this host's is too old") is is_named


def test_code_that_an_option_makes_acceptable_needs_no_newer_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "a.h:5:6: error: friend declaration of 'f' specifies default arguments [-fpermissive]"
    with pytest.raises(FaultwatchError) as failure:
        choose(FailingHost("build.sh", log), monkeypatch, BuildProposal("Script", "sh build.sh"))
    assert failure.value.remedy.startswith("with --build, pass a build command whose compiler accepts this old code")


def test_a_weak_proposal_names_what_the_builds_of_more_parts_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    host = FailingHost(
        "all", "--   Package 'fftw3', required by 'virtual:world', not found\nCMake Error at /FindPkgConfig.cmake:1\n"
    )
    host.counts = {("make tools", ALONE.command): (9, 9)}
    builds = [BuildProposal("CMake", f"make {part}", runs=(ALONE,)) for part in ("all", "tools")]
    monkeypatch.setattr(init_choice, "list_proposals", lambda *_: list(builds))
    choice = init_choice.choose_build_and_run(cast("FirstMeasurement", host), Questions(silent=True))
    assert choice.missing_parts == ("fftw3 is missing: apt install libfftw3-dev, or dnf install fftw-devel",)
    host.log = (
        "npm error network request to https://files.example/x failed, reason: getaddrinfo ENOTFOUND files.example\n"
    )
    builds.insert(0, BuildProposal("CMake", "make all", runs=(ALONE,)))
    choice = init_choice.choose_build_and_run(cast("FirstMeasurement", host), Questions(silent=True))
    assert [part.partition(":")[0] for part in choice.missing_parts] == [
        "the build downloads files that this host cannot reach"
    ]


def test_the_refusal_quotes_the_first_error_of_the_most_likely_build(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenHost(Host):
        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            log = f"x.c:1:1: fatal error: {proposal.command}.h\nx.c:2:2: error: y\nmake: *** [Makefile:1: x] Error 1\n"
            raise BuildFailure(f"`{proposal.command}` ended with exit code 2", Build(log=log))

    builds = [BuildProposal("Make", command) for command in ("first", "second")]
    with pytest.raises(FaultwatchError) as error:
        choose(BrokenHost({}), monkeypatch, *builds)
    assert error.value.what == "x was not built: x.c:1:1: fatal error: first.h"
    offline = BuildProposal("Maven", "offline", offline=True)
    with pytest.raises(FaultwatchError) as error:
        choose(BrokenHost({}), monkeypatch, offline, *builds)
    assert error.value.what == "x was not built: x.c:1:1: fatal error: first.h", "a package was only not downloaded"


def test_a_build_that_cannot_download_is_refused_with_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    class UnconnectedHost(Host):
        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            line = "fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org"
            raise BuildFailure(f"`make` ended with exit code 2: {line}", Build(log=f"Cloning into 'x'...\n{line}\n"))

    with pytest.raises(FaultwatchError) as error:
        choose(UnconnectedHost({}), monkeypatch, BuildProposal("Make", "make"))
    assert "unable to access 'https://example.org/x.git/'" in error.value.what
    assert "downloads" in error.value.remedy
    assert "driver" not in error.value.remedy


def test_a_build_of_go_is_tried_again_where_it_lacks_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    class SumlessHost(Host):
        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            if "GOFLAGS" in proposal.environment:
                return super().build(proposal)
            raise BuildFailure("`go` ended with exit code 1", Build(log="go: a/b@v1: missing go.sum entry\n"))

    host = SumlessHost({("go", BENCHMARK.command): (9, 9)})
    assert choose(host, monkeypatch, BuildProposal("Go", "go", ("go",), runs=(BENCHMARK,))) == "go: bin/benchmarks"


def test_a_header_in_a_folder_of_its_own_is_not_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "stb").mkdir()
    (tmp_path / "stb/stb_image.h").touch()
    monkeypatch.setattr("runner.adoption.header_folders._SYSTEM_HEADERS", tmp_path)

    class StrictHost(Host):
        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            if proposal.environment.get("CPATH") == f"{tmp_path}/stb":
                return super().build(proposal)
            log = "x.c:1:1: fatal error: stb_image.h: No such file or directory\n"
            raise BuildFailure("`make` ended with exit code 2", Build(log=log))

    host = StrictHost({("make", BENCHMARK.command): (9, 9)})
    assert choose(host, monkeypatch, BuildProposal("Make", "make", runs=(BENCHMARK,))) == "make: bin/benchmarks"


def test_a_missing_tool_is_named_with_its_packages_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = FailingHost("make", "bison -d x.y\nmake: bison: No such file or directory\nmake: *** Error 127\n")
    with pytest.raises(FaultwatchError) as error:
        choose(host, monkeypatch, BuildProposal("Make", "sh -c 'make -j$(nproc)'"))
    assert (error.value.what, error.value.remedy) == (
        "x was not built: bison is missing",
        "apt install bison, or dnf install bison",
    )
    assert "the project does not build this way: bison is missing: apt install bison" in capsys.readouterr().err
    assert len(host.built) == 1, "a build of one job at a time would lack it too"


def test_a_tool_that_the_usual_build_lacks_is_the_remedy_if_no_other_way_works(monkeypatch: pytest.MonkeyPatch) -> None:
    class ToollessHost(Host):
        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            workload = SimpleNamespace(build=SimpleNamespace(needs=proposal.tools, environment={}, command=()))
            raise BuildFailure(find_missing_programs(cast("Workload", workload)), Build())

    monkeypatch.setattr("runner.subject.build_needs.get_build_path", lambda _: "")
    monkeypatch.setattr("runner.subject.build_needs.suggest_path", lambda *_: "")
    builds = [BuildProposal(tool, tool, (tool,)) for tool in ("a-tool-of-its-own", "meson", "libtoolize")]
    with pytest.raises(FaultwatchError) as error:
        choose(ToollessHost({}), monkeypatch, *builds)
    assert (error.value.what, error.value.remedy) == (
        "x was not built: meson is missing",
        "apt install meson, or dnf install meson",
    )


def test_a_kept_ci_file_that_gates_another_workload_is_no_gate_of_this_one(tmp_path: Path) -> None:
    ci = tmp_path / "ci.yml"
    ci.write_text("run: faultwatch gate bench/workload.toml --output x\n")
    assert not _describe_kept_ci_file(ci, "bench/workload.toml")
    assert "does not mention workload.toml" in _describe_kept_ci_file(ci, "workload.toml")
    assert "does not mention more/bench/workload.toml" in _describe_kept_ci_file(ci, "more/bench/workload.toml")


@pytest.mark.parametrize("path", ["./workload.toml", "$PWD/workload.toml", '"${ROOT}"/workload.toml'])
def test_a_kept_ci_file_may_name_the_workload_from_the_top(path: str, tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text(f"run: faultwatch gate {path} main..HEAD\n")
    assert not _describe_kept_ci_file(tmp_path / "ci.yml", "workload.toml")


def test_a_kept_file_that_cannot_be_read_runs_no_gate(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("folder", "link"):
        assert "was left unchanged and does not mention w.toml" in _describe_kept_ci_file(tmp_path / name, "w.toml")


def test_variants_of_a_build_are_not_built_for_a_program_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = [BuildProposal("CMake", name, runs=(ALONE,)) for name in ("first", "second")]
    host = Host({("first", ALONE.command): (5, 5)})
    choose(host, monkeypatch, *builds)
    assert host.built == ["first"]


def test_another_build_system_is_tried_where_no_program_of_the_first_works(monkeypatch: pytest.MonkeyPatch) -> None:
    test, tool = RunProposal("build/broken_test"), RunProposal("./tool")

    class Found(Host):
        """A project whose sources name no program: programs are found in the built tree."""

        def list_run_proposals(self, proposal: BuildProposal, tree: Path) -> list[RunProposal]:
            return [tool] if proposal.system == "Make" else [test]

    cmake = [BuildProposal("CMake", name) for name in ("with tests", "without")]
    host = Found({("make", tool.command): (7, 7)})
    assert choose(host, monkeypatch, *cmake, BuildProposal("Make", "make")) == "make: ./tool"
    assert host.built == ["with tests", "make"], "another variant of the first would make the same programs"


def test_a_build_with_tests_is_tried_where_programs_only_start(monkeypatch: pytest.MonkeyPatch) -> None:
    test = RunProposal("build/test_sums", may_do_nothing=True)

    class Found(Host):
        def list_run_proposals(self, proposal: BuildProposal, tree: Path) -> list[RunProposal]:
            return [test] if proposal.builds_tests else [ALONE]

    builds = [BuildProposal("CMake", "default"), BuildProposal("CMake", "all", builds_tests=True)]
    host = Found({("default", ALONE.command): (5, 5), ("all", test.command): (9, 9)})
    assert choose(host, monkeypatch, *builds) == "all: build/test_sums"


@pytest.mark.parametrize("option", ["--build", "--run"])
def test_the_folder_of_the_workload_file_is_refused_by_its_name(option: str) -> None:
    done = CliRunner().invoke(command, ["--yes", option, "sh {workload}/make.sh"])
    assert isinstance(done.exception, FaultwatchError)
    assert "{workload} is the folder of the workload file" in done.exception.what
    assert "in a separate folder" in (done.exception.remedy or "")


def test_a_workload_that_no_ci_file_can_name_is_refused_before_it_is_measured(
    commit: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("runner.cli.init.create_host_turn", lambda _: pytest.fail("it waits for its turn"))
    folder = tmp_path / "subject" / "my benchmark"
    folder.mkdir()
    (folder / "workload.toml").write_text('[workload]\nname = "x"\n[run]\ncommand = "true"\n')
    commit("Add a workload")
    done = CliRunner().invoke(command, ["--yes", "--ci", "shell", str(folder)])
    assert isinstance(done.exception, FaultwatchError)
    assert "'my benchmark/workload.toml' cannot be written into a CI file" in done.exception.what


def test_the_reason_names_the_module_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FaultwatchError) as error:
        choose(Host({}), monkeypatch, BuildProposal("Python", "", runs=(RunProposal("python3 heat.py"),)))
    assert "python3 heat.py, for example: " in error.value.what
    assert MISSING in error.value.what
    assert "venv/bin/pip install numpy" in (error.value.remedy or "")


def test_an_interactive_program_is_said_to_need_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    says = {"./kilo": "usage: kilo FILE", "./kilo x": "`./kilo x` ended: Inappropriate ioctl for device"}
    host = Host({})
    monkeypatch.setattr(
        host, "try_runs", lambda _, runs, *__: [TriedCommand(run, (), says[run.command]) for run in runs]
    )
    runs = tuple(map(RunProposal, says))
    for run in (None, "./kilo x"):
        with pytest.raises(FaultwatchError, match="Inappropriate ioctl") as error:
            choose(host, monkeypatch, BuildProposal("Make", "make", runs=runs), run=run)
        assert (error.value.remedy or "").startswith("a measured program has no terminal")


def test_a_program_that_takes_too_long_is_said_to_need_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host({})
    slow = TriedCommand(RunProposal("./clover"), (), "`./clover` did not finish within 20 s", timed_out=True)
    monkeypatch.setattr(host, "try_runs", lambda *_: [slow])
    for run in (None, "./clover"):
        with pytest.raises(FaultwatchError, match="did not finish within 20 s") as error:
            choose(host, monkeypatch, BuildProposal("Make", "make", runs=(slow.run,)), run=run)
        assert (error.value.remedy or "").startswith("with --run, pass a command that takes a few seconds")


def test_a_named_build_gets_what_the_files_say_of_the_project() -> None:
    files = {"go.mod": "module m\n\ngo 1.13\n", "main.go": "package main\n\nfunc main() {}\n"}
    first = cast("FirstMeasurement", type("", (), {"sources": listing(files)}))
    (named,) = init_builds.list_proposals(first, "sh -c 'cd x && go build'", None, ())
    assert (named.tools, named.min_versions) == (("go",), {"go": "1.13"})
    assert {"GOMODCACHE", "GOCACHE"} <= set(named.environment)
    files = {"pyproject.toml": '[build-system]\nrequires = ["setuptools-scm"]\n', "p/__init__.py": ""}
    first = cast("FirstMeasurement", type("", (), {"sources": listing(files)}))
    (named,) = init_builds.list_proposals(first, "venv/bin/pip install .", None, ())
    assert named.environment["SETUPTOOLS_SCM_PRETEND_VERSION"], "whichever way it builds, it reads a version"
    assert not named.git
    assert "PIP_FIND_LINKS" in named.environment


def test_a_benchmark_that_fails_is_named_beside_a_proposal_that_only_starts() -> None:
    proposal, idle = (
        BuildProposal("Python", ""),
        TriedCommand(RunProposal('python -c "import x"', may_do_nothing=True), (5, 5, 5)),
    )
    failed = TriedCommand(
        RunProposal("python bench.py"), (), "`python bench.py` succeeds, but prints: No module named pyperf"
    )
    package = TriedCommand(RunProposal("bin/x --help", may_do_nothing=True), (), "it failed")
    (remark,) = _describe_rejected_commands(BuildAndRunChoice(proposal, idle, (failed, package)))
    assert "python bench.py` succeeds, but prints: No module named pyperf" in remark
    assert "--run" not in remark, "refused beside the workload.toml that init has just written"
    work = TriedCommand(RunProposal("python bench_more.py"), (9, 9, 9))
    assert _describe_rejected_commands(BuildAndRunChoice(proposal, work, (failed,))) == [], (
        "the proposal is a benchmark too"
    )
    assert (
        _describe_rejected_commands(
            BuildAndRunChoice(proposal, TriedCommand(failed.run, (9, 9), prints_usage=True), (failed,))
        )
        == []
    ), "another build ran it"
    server = TriedCommand(RunProposal("./srv -p {port}", obstacle="./srv is a server"), (), "./srv is a server")
    assert _describe_rejected_commands(BuildAndRunChoice(proposal, idle, (server,))) == [], "it has its own remark"


def test_a_test_that_hardly_works_may_be_replaced_by_a_driver_of_the_library() -> None:
    assert "write a small driver program" in _suggest_work(RunProposal("build/test", is_test=True))
    assert "driver" not in _suggest_work(RunProposal("build/program"))
    assert _suggest_work(RunProposal("build/server", load=LoadProposal("ab"))).startswith("Make `command` in [server]")


def test_a_test_program_is_not_said_to_do_nothing_but_start() -> None:
    read = TriedCommand(RunProposal("./x COPYING", stand_in_file="COPYING"), (500, 500))
    assert _describe_weakness(read).startswith("The program reads COPYING, which may not")
    larger = TriedCommand(RunProposal("./x faultwatch-input", stand_in_file="COPYING"), (500, 500))
    assert _describe_weakness(larger).startswith("The program reads copies of COPYING, which may not")
    assert "may do nothing but start up" in _describe_weakness(
        TriedCommand(RunProposal("build/x", may_do_nothing=True), (5, 5))
    )
    assert (
        _describe_weakness(TriedCommand(RunProposal("build/xmltest", may_do_nothing=True, is_test=True), (5, 5))) == ""
    )


@pytest.mark.parametrize(("before", "exact"), [((), True), ((116, 116, 116), True), ((118, 116, 121), False)])
def test_samples_that_agree_by_chance_are_not_exact_where_the_trial_varied(
    before: tuple[int, ...], exact: bool
) -> None:
    samples = tuple(Sample(readings={"minor-faults": Reading(value=faults)}) for faults in (116, 116, 117))
    judged = _assess_exactness(report().model_copy(update={"samples": samples}), before)
    assert judged
    assert judged.exact is exact


def test_a_program_that_lacks_what_a_failed_build_makes_is_refused_with_that_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(Host):
        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            if proposal.command == "npm run build":
                raise FaultwatchError("no network")
            return super().build(proposal)

    builds = BuildProposal("Node.js", "npm run build"), BuildProposal("Node.js", "", runs=(RunProposal("node x.js"),))
    with pytest.raises(FaultwatchError) as failure:
        choose(Broken({}), monkeypatch, *builds)
    assert failure.value.what == f"x was not built: no network; without this build, {MISSING}"
    other_system = BuildProposal("Make", "npm run build")
    with pytest.raises(FaultwatchError) as failure:
        choose(Broken({}), monkeypatch, other_system, builds[1])
    assert failure.value.what.endswith(f"node x.js, for example: {MISSING}; another build failed: no network")


def test_a_program_that_lacks_what_a_build_could_not_download_is_refused_with_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Offline(Host):
        def build(self, proposal: BuildProposal) -> tuple[Path, Any]:
            if proposal.command == "npm run build":
                raise FaultwatchError("getaddrinfo ENOTFOUND files.example")
            return super().build(proposal)

    host = Offline({})
    failed = "`node x.js` ended with exit code 1: Error: Cannot find module '../dist/bin.js'"
    monkeypatch.setattr(host, "try_runs", lambda _, runs, *__: [TriedCommand(run, (), failed) for run in runs])
    builds = BuildProposal("Node.js", "npm run build"), BuildProposal("Node.js", "", runs=(RunProposal("node x.js"),))
    with pytest.raises(FaultwatchError) as failure:
        choose(host, monkeypatch, *builds)
    assert failure.value.what == f"x was not built: getaddrinfo ENOTFOUND files.example; without this build, {failed}"
    assert "the build downloads files that this host cannot reach" in str(failure.value.remedy)


def test_a_refusal_after_a_build_without_the_submodules_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = "/home/b/0123456789ab-0123456789abcdef-0__/tree"
    host = FailingHost(
        "all", f"CMake Error at CMakeLists.txt:3 (add_subdirectory):\n  The source directory\n\n    {tree}/deps/gtest\n"
    )
    usage = "`./tool` ended with exit code 1: Usage: tool COMMAND"
    monkeypatch.setattr(host, "try_runs", lambda _, runs, *__: [TriedCommand(run, (), usage) for run in runs])
    builds = [BuildProposal("CMake", f"make {part}", runs=(RunProposal("./tool"),)) for part in ("all", "tools")]
    monkeypatch.setattr(init_choice, "list_proposals", lambda *_: builds)
    with pytest.raises(FaultwatchError) as failure:
        init_choice.choose_build_and_run(
            cast("FirstMeasurement", host), Questions(silent=True), missing_submodules=("deps/gtest",)
        )
    cause = "CMake Error at CMakeLists.txt:3 (add_subdirectory): The source directory ./deps/gtest"
    assert failure.value.what == f"x was not built: {cause}; without this build, {usage}"
    assert str(failure.value.remedy).startswith("fetch the submodules (deps/gtest), or pass the commands")


def test_the_outcome_of_a_trial_names_the_command_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host({("build", "./works"): (5, 5)})
    runs = (RunProposal("./fails"), RunProposal("./works"))
    monkeypatch.setattr(
        host,
        "try_runs",
        lambda _, runs, *__: [
            TriedCommand(runs[0], (), "`./fails` ended with exit code 1: no input"),
            TriedCommand(RunProposal("./fails x"), (), "`./fails x` ended with exit code 1: no input"),
            TriedCommand(RunProposal("java -cp a/* A"), (), "`java -cp 'a/*' A` ended with exit code 1: no input"),
            TriedCommand(replace(runs[1], load=LoadProposal("ab -n 9 {port}")), (5, 5)),
        ],
    )
    choose(host, monkeypatch, BuildProposal("Make", "build", runs=runs))
    printed = capsys.readouterr().err
    assert "  ./fails: ended with exit code 1: no input\n" in printed
    assert "  ./fails x: fails in the same way\n" in printed
    assert "  java -cp a/* A: fails in the same way\n" in printed
    assert "  ./works: 5 minor faults under the load of ab\n" in printed


def test_a_server_that_cannot_be_loaded_is_explained_with_the_tables_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = "./srv 80 listens on port 80: it is a server, and init does not know a load generator for it"
    server = RunProposal("./srv {port}", program="./srv", obstacle=lacks)
    host = Host({})
    monkeypatch.setattr(host, "try_runs", lambda _, runs, *__: [TriedCommand(run, (), run.obstacle) for run in runs])
    with pytest.raises(FaultwatchError) as failure:
        choose(host, monkeypatch, BuildProposal("Make", "make", runs=(server,)))
    assert failure.value.what == f"no program could be measured: {lacks}"
    *_, text = failure.value.remedy.partition(":\n")
    workload = Workload.model_validate(tomllib.loads(text) | {"path": Path("workload.toml")})
    assert workload.server
    assert workload.server.command == ("./srv", "{port}")
    assert workload.build.command == ("make",)


def test_a_server_that_keeps_its_port_and_one_beside_a_program_are_remarked() -> None:
    load = LoadProposal("ab http://127.0.0.1:80/", output="ab")
    assert "`./srv` always listens on the same port" in _describe_server(
        RunProposal("./srv", load=load, ready_command="true"), None
    )
    assert _describe_server(RunProposal("./srv {port}", load=load), None) == ""
    assert _describe_server(RunProposal("./x"), None) == ""
    remark = _describe_server(RunProposal("./x"), RunProposal("./srv {port}", obstacle="./srv is a server"))
    assert remark.startswith("./srv is a server. To measure it under load, ")


def test_a_build_command_of_the_users_that_makes_no_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_choice, "list_proposals", lambda *_: [BuildProposal("your command", "make lib")])
    with pytest.raises(FaultwatchError, match="the build produces no executable program") as refusal:
        init_choice.choose_build_and_run(
            cast("FirstMeasurement", Host({})), Questions(silent=True), build="make lib", run=None
        )
    assert refusal.value.remedy.startswith("correct --build 'make lib'")


def test_another_build_is_made_if_the_tests_of_the_first_one_take_no_more_than_a_start() -> None:
    test = RunProposal("test/unit", may_do_nothing=True, is_test=True)
    first, other = BuildProposal("Make", "make"), BuildProposal("Make", "make dump", builds_tests=True)
    for seconds, is_built in ((0.002, True), (0.5, False)):
        result = TriedCommand(test, (57, 57, 57), cpu_seconds=seconds)
        assert init_choice._may_run_more_work(other, first, [result]) is is_built
    assert not init_choice._may_run_more_work(replace(other, builds_tests=False), first, [result])


@pytest.mark.parametrize(("faults", "expected"), [(350, "test: bin/benchmarks"), (3500, "build: bin/q . a.json")])
def test_a_program_whose_input_hardly_makes_it_work_gives_way_to_benchmarks(
    faults: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "get_input_size", lambda *_: 0)
    usage = RunProposal("bin/q --help", may_do_nothing=True)
    given = RunProposal("bin/q . a.json", input_file="a.json", program="bin/q")
    loose = BuildProposal("Make", "make test", runs=(RunProposal("bin/q a", may_do_nothing=True),))
    builds = BuildProposal("Go", "build", runs=(usage, given)), loose, BuildProposal("Go", "test", runs=(BENCHMARK,))
    counts = {("build", usage.command): (340, 341), ("build", given.command): (faults, faults)}
    host = Host({**counts, ("test", BENCHMARK.command): (900, 900)})
    assert choose(host, monkeypatch, *builds) == expected
    assert "make test" not in host.built
    assert choose(Host(counts), monkeypatch, *builds) == "build: bin/q . a.json", "the benchmarks do not work"


def test_another_part_of_a_project_is_built_if_the_first_one_only_starts() -> None:
    alone = RunProposal("part1/x", may_do_nothing=True)
    ignoring = RunProposal("part1/x LICENSE", stand_in_file="LICENSE")
    parts = [BuildProposal("Make", f"make part{number}", is_reduced=True) for number in (1, 2)]
    results = [TriedCommand(run, (113, 113), cpu_seconds=0.006, own_bytes="same") for run in (alone, ignoring)]
    assert init_choice._may_run_more_work(parts[1], parts[0], results)
    assert not init_choice._may_run_more_work(parts[1], replace(parts[0], is_reduced=False), results)


@pytest.mark.parametrize(
    ("faults", "chosen"), [((900, 900), "make && cut: bin/x faultwatch-input.fq"), ((), "make: bin/x LICENSE")]
)
def test_a_made_input_replaces_a_stand_in(
    faults: tuple[int, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in, made = (
        RunProposal("bin/x LICENSE", stand_in_file="LICENSE"),
        RunProposal("bin/x faultwatch-input.fq", input_file="faultwatch-input.fq"),
    )
    build, making = BuildProposal("Make", "make", runs=(stand_in,)), BuildProposal("Make", "make && cut")
    host = Host({("make", stand_in.command): (5000, 5000), (making.command, made.command): faults})
    host.made_input = (making, [made])
    monkeypatch.setattr(host, "get_input_size", lambda run, tree: 1 << 20)
    assert choose(host, monkeypatch, build) == chosen
    assert list(dict.fromkeys(host.built)) == ["make", "make && cut"]
    host.counts[build.command, BENCHMARK.command] = (9, 9)
    host.built.clear()
    assert choose(host, monkeypatch, replace(build, runs=(BENCHMARK,))) == f"make: {BENCHMARK.command}"
    assert host.built == ["make"], "a benchmark needs no input"


@pytest.mark.parametrize(("command", "start"), [("bin/x", "bin/x"), ("sh -c 'cd t && exec ../x'", "./program")])
def test_a_refusal_shows_where_the_arguments_of_the_program_go(
    command: str, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host({})
    monkeypatch.setattr(
        host,
        "try_runs",
        lambda _, runs, *__: [TriedCommand(run, (), "it ended with exit code 1: Usage") for run in runs],
    )
    with pytest.raises(FaultwatchError) as refused:
        choose(host, monkeypatch, BuildProposal("Make", "make", runs=(RunProposal(command),)))
    assert f"--run '{start} ARGUMENTS'" in str(refused.value.remedy)


@pytest.mark.parametrize(
    ("seconds", "faults", "is_alone"), [(400.0, 905, True), (20.0, 905, False), (400.0, 300, False)]
)
def test_of_a_long_build_only_the_target_of_the_chosen_program_is_kept(
    seconds: float, faults: int, is_alone: bool
) -> None:
    whole = "sh -c 'cmake -S . -B build && cmake --build build -j$(nproc)'"
    alone = "sh -c 'cmake -S . -B build && cmake --build build -j$(nproc) --target perf'"
    run = RunProposal("build/bin/perf")
    host = Host({(alone, run.command): (faults, faults)})
    durations = {whole: seconds, alone: 9.0}

    def build(proposal: BuildProposal) -> tuple[Path, Any]:
        return Path(proposal.command), SimpleNamespace(seconds=durations[proposal.command])

    host.build = build  # type: ignore[method-assign]
    chosen = TriedCommand(run, (900, 900))
    proposal, _, result = init_choice._build_chosen_target(
        cast("FirstMeasurement", host), BuildProposal("CMake", whole), Path("tree"), chosen
    )
    assert (proposal.command == alone) is is_alone
    assert result.faults == ((faults, faults) if is_alone else (900, 900))
