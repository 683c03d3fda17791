from typing import Any

import pytest
from msgspec.structs import replace

from runner.adoption.caveats import describe_caveat
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.tried_command import TriedCommand
from runner.adoption.workload_text import render_workload


def tried(command: str, **keys: Any) -> TriedCommand:
    own = {name: keys.pop(name) for name in ("prints_usage", "is_foreign") if name in keys}
    return TriedCommand(RunProposal(command, **keys), (500, 500), **own)


@pytest.mark.parametrize(
    ("result", "caveat"),
    [
        (tried("./x", may_do_nothing=True), "this measures only the start-up of `./x`, because it gets no input"),
        (
            tried("./x --help", may_do_nothing=True),
            "this measures only the start-up of `./x --help`, which prints its usage or version",
        ),
        (
            tried("./x", prints_usage=True),
            "this measures only the start-up of `./x`, which prints its usage or version",
        ),
        (
            tried("./x LICENSE", stand_in_file="LICENSE"),
            "the file in `./x LICENSE` is only a stand-in for the input that real",
        ),
        (tried("python3 port.py", is_foreign=True), "`python3 port.py` executes nothing that this project builds"),
        (tried("./x tests/a.json", input_file="tests/a.json"), ""),
        (tried("./x_test", may_do_nothing=True, is_test=True), ""),
        (tried("./bench"), ""),
        (tried("./srv .", http_error=404), "the load requests only pages that the server answers with HTTP error 404"),
    ],
)
def test_what_a_command_leaves_unwatched_is_said(result: TriedCommand, caveat: str) -> None:
    said = describe_caveat(result)
    assert said.startswith(caveat)
    assert bool(said) is bool(caveat)


def test_a_stand_in_that_adds_little_is_said_to_measure_a_start() -> None:
    result = tried("./x LICENSE", stand_in_file="LICENSE")
    assert describe_caveat(result, 490) == (
        "this measures little more than the program's start-up: without its input, `./x LICENSE` takes only 10 fewer "
        "faults"
    )
    assert describe_caveat(result, 100).startswith("the file in `./x LICENSE` is only a stand-in")


def test_a_program_that_reads_its_input_piece_by_piece_does_more_than_start() -> None:
    result = replace(tried("./x a.bin", input_file="a.bin"), faults=(157, 157), cpu_seconds=0.03)
    assert describe_caveat(result, 156) == ""
    assert describe_caveat(replace(result, cpu_seconds=0.002), 156)
    assert describe_caveat(replace(result, faults=(3010, 3010), cpu_seconds=0.1), 3000), "a runtime starts slowly"


def test_a_program_that_computes_for_long_does_more_than_start() -> None:
    quick = tried("./life", may_do_nothing=True)
    assert describe_caveat(replace(quick, cpu_seconds=3.0)) == ""
    assert describe_caveat(replace(quick, cpu_seconds=0.1))
    importing = tried('venv/bin/python -c "import x"', may_do_nothing=True)
    assert describe_caveat(replace(importing, cpu_seconds=3.0)), "a large package takes long to import"


def test_a_test_or_a_benchmark_that_takes_hardly_a_fault_is_little_more_than_a_start() -> None:
    test = replace(tried("build/x_test", may_do_nothing=True, is_test=True), faults=(66, 67), cpu_seconds=0.002)
    caveat = "this measures little more than the program's start-up: `build/x_test` takes only 66 faults"
    assert describe_caveat(test) == caveat
    assert describe_caveat(replace(tried("./bench"), faults=(66, 66), cpu_seconds=0.002))
    assert "about as many as an empty program, however long it computes" in describe_caveat(
        replace(test, cpu_seconds=0.5)
    )
    assert "about as many as an empty program" in describe_caveat(replace(test, faults=(131, 131), cpu_seconds=5.0)), (
        "the runtime library of C++ starts too"
    )
    assert describe_caveat(replace(test, faults=(266, 266), cpu_seconds=0.5)) == ""
    assert describe_caveat(replace(tried("./x a.json", input_file="a.json"), faults=(66, 66))) == ""
    in_shell = tried("sh -c 'cd a && mkdir -p b && exec ./x_test'", may_do_nothing=True, is_test=True)
    in_shell = replace(in_shell, cpu_seconds=0.004)
    assert describe_caveat(replace(in_shell, faults=(225, 225))), "the shell and mkdir start too"
    assert describe_caveat(replace(in_shell, faults=(400, 400))) == ""


def test_a_program_that_ends_at_once_without_an_input_is_said_to_do_nothing_but_start() -> None:
    filtering = replace(tried("target/release/choose 0 3"), faults=(279, 279), cpu_seconds=0.002)
    assert describe_caveat(filtering).startswith("this measures little more than the program's start-up")
    assert describe_caveat(replace(filtering, cpu_seconds=0.01)) == ""
    assert describe_caveat(replace(filtering, faults=(900, 900))) == ""
    with_file = tried("target/release/choose 0 -i a.txt", input_file="a.txt")
    assert describe_caveat(replace(with_file, faults=(279, 279), cpu_seconds=0.002)) == ""


def test_a_program_that_touches_little_memory_and_ends_at_once_is_said_to_do_little_work() -> None:
    small = replace(tried("./bfs -g 10"), faults=(239, 239), memory_faults=134, cpu_seconds=0.012)
    assert describe_caveat(small).startswith("`./bfs -g 10` does little work: it touches only 134 pages of memory and ")
    assert describe_caveat(replace(small, cpu_seconds=0.2)) == ""
    assert describe_caveat(replace(small, memory_faults=2000)) == ""
    assert describe_caveat(replace(small, memory_faults=None)) == ""


def test_a_short_text_of_a_document_with_which_a_program_ends_at_once_is_said_to_be_no_work() -> None:
    run = {"may_do_nothing": True, "is_test": True, "reads_text": True}
    reading = replace(tried("sh -c 'echo a | ./replace a b'", **run), faults=(253, 253), cpu_seconds=0.0026)
    assert describe_caveat(reading).startswith("this measures little more than the program's start-up")
    assert describe_caveat(replace(reading, faults=(32970, 32970), cpu_seconds=0.05)) == "", "it hashes a password"


def test_an_example_that_only_imports_the_package_is_said_to_do_so() -> None:
    example = replace(tried("python examples/a.py", may_do_nothing=True, is_test=True), only_imports=True)
    assert describe_caveat(example).startswith("this measures little more than the import of the package")


def test_the_caveat_is_in_the_workload_file_with_when_to_delete_it() -> None:
    text = render_workload(
        "x", BuildProposal("Make", "make"), RunProposal("./x"), caveat="this watches the start alone"
    )
    assert 'wait for.\ncaveat = "this watches the start alone"\n' in text
    assert "caveat" not in render_workload("x", BuildProposal("Make", "make"), RunProposal("./x"))


def test_an_input_that_adds_hardly_a_fault_is_no_work() -> None:
    given = TriedCommand(RunProposal("./lz4 tests/skip.bin", input_file="tests/skip.bin"), (75, 75))
    assert describe_caveat(given, 72) == (
        "this measures little more than the program's start-up: without its input, `./lz4 tests/skip.bin` takes only 3 "
        "fewer faults"
    )
    assert describe_caveat(given, 74).endswith("takes only 1 fewer fault")
    assert describe_caveat(given, 60).startswith(
        "the input of `./lz4 tests/skip.bin` is small: it adds only 15 faults to the 60 with which the program starts"
    )
    assert "is small" not in describe_caveat(replace(given, cpu_seconds=0.1), 60), "it computes"
    assert describe_caveat(replace(given, faults=(275, 275)), 60) == ""
    assert describe_caveat(replace(given, faults=(275, 275)), 0) == ""
    assert describe_caveat(given, 90).endswith("takes no fewer faults")
    assert describe_caveat(given, 0) == ""


def test_a_program_that_reads_its_input_into_the_same_few_pages_is_said_to_do_so() -> None:
    result = replace(tried("./fq in.fq", input_file="in.fq"), faults=(170, 170), cpu_seconds=0.03)
    assert "however long it computes" in describe_caveat(replace(result, memory_faults=50))
    assert describe_caveat(replace(result, memory_faults=90)) == ""
    in_shell = replace(result, run=replace(result.run, command="sh -c 'exec ./fq < in.fq'"), faults=(230, 230))
    in_shell = replace(in_shell, memory_faults=120)
    assert "however long it computes" in describe_caveat(in_shell), "the shell takes some of them"


def test_a_stand_in_with_which_a_program_takes_no_more_than_a_start_is_said_to_measure_one() -> None:
    result = replace(tried("./x . LICENSE", stand_in_file="LICENSE"), faults=(54, 54), cpu_seconds=0.001)
    assert describe_caveat(result) == (
        "this measures little more than the program's start-up: `./x . LICENSE` takes only 54 faults"
    )
    assert "stand-in" in describe_caveat(replace(result, cpu_seconds=0.3)), "it computes for long"


def test_an_input_of_the_project_with_which_a_program_takes_no_more_than_a_start_is_said_to_measure_one() -> None:
    result = replace(tried("./c4 hello.c", input_file="hello.c"), faults=(63, 63), cpu_seconds=0.0007)
    assert describe_caveat(result).endswith("`./c4 hello.c` takes only 63 faults")
    fortran = replace(tried("./slsqp_test", may_do_nothing=True, is_test=True), faults=(104, 104), cpu_seconds=0.001)
    assert describe_caveat(fortran).endswith("takes only 104 faults"), "its runtime library starts too"
    assert describe_caveat(replace(fortran, cpu_seconds=0.01)).endswith("but a slower computation would not")
    assert describe_caveat(replace(fortran, faults=(190, 190))) == ""
