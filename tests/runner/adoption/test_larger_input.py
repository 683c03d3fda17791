import json
import shlex
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.adoption.larger_input import (
    LARGE_BYTES,
    choose_first_size,
    count_runtime_faults,
    does_more_work,
    increase_size,
    list_runs_of_other_programs,
    propose_larger_input,
    takes_more,
)
from runner.adoption.proposal import BuildProposal, RunProposal, add_build_step
from runner.adoption.tried_command import TriedCommand

MAKE = BuildProposal("Make", "sh -c 'make -j$(nproc)'")
SMALL = TriedCommand(RunProposal("./x -f bench/a.md", input_file="bench/a.md"), (70, 70), seconds=0.002)


def test_a_small_input_is_repeated_by_a_step_of_the_build() -> None:
    proposed = propose_larger_input(SMALL, 10_000)
    assert proposed
    step, run = proposed
    assert step == "yes bench/a.md | head -n 104 | xargs cat > faultwatch-input.md"
    assert (run.command, run.input_file) == ("./x -f faultwatch-input.md", "bench/a.md")
    assert add_build_step(MAKE, step).command == f"sh -c 'make -j$(nproc) && {step}'"
    assert add_build_step(BuildProposal("scripts", ""), step).command == f"sh -c '{step}'"


def test_a_program_that_reads_its_standard_input_gets_the_larger_one_there() -> None:
    reading = TriedCommand(RunProposal("sh -c 'exec ./x < t/a.json'", input_file="t/a.json"), (70, 70))
    proposed = propose_larger_input(reading, 10_000)
    assert proposed
    assert proposed[1].command == "sh -c 'exec ./x < faultwatch-input.json'"


def test_a_json_file_is_repeated_as_the_elements_of_an_array(tmp_path: Path) -> None:
    content = {"a": [1, 2, None]}
    (tmp_path / "a.json").write_text(json.dumps(content))
    reading = TriedCommand(RunProposal("./x a.json", input_file="a.json"), (70, 70), seconds=0.01)
    proposed = propose_larger_input(reading, 10_000)
    assert proposed
    subprocess.run(["sh", "-c", proposed[0]], cwd=tmp_path, check=True)
    assert json.loads((tmp_path / "faultwatch-input.json").read_text()) == [content] * 104


@pytest.mark.parametrize(("file", "n_lines"), [("COPYING", 10), ("README.md", 10), ("x.py", 1)])
def test_the_lines_of_a_text_that_stands_in_for_an_input_do_not_repeat(file: str, n_lines: int, tmp_path: Path) -> None:
    (tmp_path / file).write_text("Copying is fun.\n")
    reading = TriedCommand(RunProposal(f"./pack {file}", stand_in_file=file), (70, 70), seconds=0.01)
    proposed = propose_larger_input(reading, 100_000)
    assert proposed
    build = add_build_step(BuildProposal("scripts", ""), proposed[0])
    subprocess.run(shlex.split(build.command), cwd=tmp_path, check=True)
    lines = next(tmp_path.glob("faultwatch-input*")).read_text().splitlines()
    assert (len(lines), len(set(lines))) == (10, n_lines)


def test_a_program_that_hardly_computes_with_a_larger_input_gets_a_still_larger_one() -> None:
    def take(cpu_seconds: float, faults: int = 700) -> TriedCommand:
        return TriedCommand(SMALL.run, (faults, faults), cpu_seconds=cpu_seconds)

    assert increase_size(LARGE_BYTES, take(0.05)) == 4 * LARGE_BYTES, "it should take 0.2 s"
    assert increase_size(LARGE_BYTES, take(0.001)) == 16 * LARGE_BYTES, "the step should not fill the disk"
    assert increase_size(16 * LARGE_BYTES, take(0.05)) == 0
    assert increase_size(LARGE_BYTES, take(0.15)) == 0
    assert increase_size(LARGE_BYTES, take(0.0)) == 0, "unknown"
    assert increase_size(LARGE_BYTES, take(0.05, faults=7000)) == 0
    assert increase_size(LARGE_BYTES, take(0.05, faults=7000), start_faults=3000) == 4 * LARGE_BYTES


def test_the_load_of_the_host_does_not_limit_how_often_an_input_is_repeated() -> None:
    loaded = replace(SMALL, seconds=0.02, cpu_seconds=0.002)
    proposed = propose_larger_input(loaded, 1 << 10, max_bytes=8 << 20)
    assert proposed
    assert "head -n 8192 " in proposed[0]


def test_an_input_of_hundreds_of_kilobytes_is_repeated_too() -> None:
    assert [choose_first_size(size) for size in (10_000, 400_000, 40 << 20)] == [LARGE_BYTES, 4_000_000, 16 << 20]
    assert propose_larger_input(SMALL, 400_000, max_bytes=4_000_000)
    made = TriedCommand(RunProposal("./x faultwatch-input.csv", input_file="faultwatch-input.csv"), (70, 70))
    proposed = propose_larger_input(made, 400_000, max_bytes=4_000_000)
    assert proposed
    step, run = proposed
    assert step == "yes faultwatch-input.csv | head -n 10 | xargs cat > faultwatch-larger-input.csv", "two files"
    assert run.command == "./x faultwatch-larger-input.csv"


def test_other_programs_get_the_file_too() -> None:
    file = "bench/a.md"
    runs = [
        RunProposal("./x bench/a.md", input_file=file),
        RunProposal("./y bench/a.md", input_file=file),
        RunProposal("./y . bench/a.md", input_file=file, is_fallback=True),
        RunProposal("./z bench/b.md", input_file="bench/b.md"),
        RunProposal("./w", may_do_nothing=True),
        RunProposal("./bench"),  # it has work of its own, and may take long for it
        RunProposal("./bench bench/a.md", input_file=file),
        *(RunProposal(f"./more{number} bench/a.md", input_file=file) for number in range(5)),
    ]
    pairs = list_runs_of_other_programs(runs, SMALL)
    assert [small.command for small, _ in pairs] == ["./y bench/a.md", "./more0 bench/a.md", "./more1 bench/a.md"]
    assert pairs[0][1].command == "./y faultwatch-input.md"


@pytest.mark.parametrize(
    ("tried", "size"),
    [
        (TriedCommand(RunProposal("./x"), (70, 70)), 10_000),
        (TriedCommand(SMALL.run, (7000, 7000)), 10_000),
        (TriedCommand(SMALL.run, (70, 70), prints_usage=True), 10_000),
        (TriedCommand(SMALL.run, (70, 70), seconds=3), 10_000),
        (TriedCommand(RunProposal("./x t/a t/b", input_file="t/c"), (70, 70)), 10_000),
        (SMALL, 900_000),
        (SMALL, 0),
    ],
)
def test_nothing_is_repeated_without_a_small_input_or_where_it_takes_too_long(tried: TriedCommand, size: int) -> None:
    assert propose_larger_input(tried, size) is None


def test_a_larger_input_is_worth_its_step_only_if_it_takes_much_more_work_and_the_faults_repeat() -> None:
    def take(*faults: int, seconds: float = 0.1) -> TriedCommand:
        return TriedCommand(SMALL.run, faults, seconds=seconds)

    loaded = replace(take(700, 700, seconds=6.0), cpu_seconds=1.5)
    assert does_more_work(loaded, SMALL), "the load of the host prolongs it"
    assert not does_more_work(replace(loaded, cpu_seconds=3.0), SMALL)
    assert does_more_work(take(700, 700), SMALL)
    assert not does_more_work(take(), SMALL), "it is refused"
    assert not does_more_work(take(80, 80), SMALL)
    assert not does_more_work(take(700, 700, seconds=5), SMALL)
    assert not does_more_work(take(700, 701), SMALL)
    assert does_more_work(take(700, 701), take(70, 71))
    refusing = replace(take(6783, 6783), reports_error=True)
    assert not does_more_work(refusing, SMALL), "copies of a valid program define its functions twice"
    assert does_more_work(refusing, replace(SMALL, reports_error=True)), "it reports its findings"


def test_an_exact_count_of_a_start_gives_way_to_a_count_of_work_that_is_nearly_exact() -> None:
    def take(*faults: int, cpu_seconds: float = 0.002) -> TriedCommand:
        return TriedCommand(SMALL.run, faults, seconds=0.1, cpu_seconds=cpu_seconds)

    assert does_more_work(take(429, 434), take(116, 116))
    assert not does_more_work(take(429, 634), take(116, 116))
    assert not does_more_work(take(4290, 4340), take(1160, 1160)), "the small input is work"
    assert not does_more_work(take(429, 434), take(116, 116, cpu_seconds=0.5)), "it computes for long"


def test_a_program_that_maps_its_input_works_more_if_it_takes_twice_the_time() -> None:
    def take(faults: int, cpu_seconds: float) -> TriedCommand:
        return TriedCommand(SMALL.run, (faults, faults), cpu_seconds=cpu_seconds)

    assert does_more_work(take(140, 0.0028), take(106, 0.0012))
    assert not does_more_work(take(140, 0.0014), take(106, 0.0012))
    assert not does_more_work(take(106, 0.0028), take(106, 0.0012)), "it does not read the larger file"
    assert does_more_work(take(106, 0.008), take(106, 0.0012)), "it reads the larger file piece by piece"
    assert takes_more(take(106, 0.008), take(106, 0.0012))
    assert takes_more(take(107, 0.0012), take(106, 0.0012))
    assert not takes_more(take(106, 0.0028), take(106, 0.0012))


def test_many_copies_of_a_small_input_are_no_more_work_than_an_input_with_which_a_program_computes_more() -> None:
    def take(faults: int, cpu_seconds: float) -> TriedCommand:
        return TriedCommand(SMALL.run, (faults, faults), cpu_seconds=cpu_seconds)

    assert not takes_more(take(716, 0.012), take(340, 0.044))
    assert takes_more(take(716, 0.040), take(340, 0.044)), "the CPU time varies"
    assert takes_more(take(716, 0), take(340, 0)), "it is unknown"


def test_a_program_with_a_language_runtime_works_only_beyond_its_start() -> None:
    def take(*faults: int) -> TriedCommand:
        return TriedCommand(SMALL.run, faults, seconds=0.1)

    start = count_runtime_faults(5200)
    assert propose_larger_input(take(5290, 5150), 10_000) is None
    assert propose_larger_input(take(5290, 5150), 10_000, start) is not None
    assert does_more_work(take(6500, 6400), take(5290, 5150), start)
    assert not does_more_work(take(5900, 6400), take(5290, 5150), start), "a start varies"
    assert count_runtime_faults(80) == 0, "a native program starts with few faults"


@pytest.mark.parametrize("command", ["make CFLAGS='-O2 -g'", "sh -c \"make CFLAGS='-O2 -g'\""])
def test_a_build_with_quotes_gets_the_step_that_makes_the_larger_input(command: str) -> None:
    proposed = propose_larger_input(SMALL, 10_000)
    assert proposed
    shell, option, text = shlex.split(add_build_step(BuildProposal("your command", command), proposed[0]).command)
    assert (shell, option) == ("sh", "-c")
    assert text.startswith("make CFLAGS='-O2 -g' && yes ")
