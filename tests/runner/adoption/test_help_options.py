"""The options for a single thread, and for a shorter computation, are found in the help texts that programs print."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.adoption.help_options import list_scanned_options, list_shorter_options, list_single_thread_options


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("    -t INT       number of threads [3]", "-t 1"),
        ("  -p, --processes n    Allow up to n compression threads", "--processes 1"),
        ("  -T, --threads=NUM   use at most NUM threads; the default is 0", "--threads=1"),
        ("      -@, --threads INT  Number of threads to use [0]", "--threads 1"),
        ("  -j, --threads <num>  Set number of threads to use for searching", "--threads 1"),
        ("  -T#           : spawn # compression threads (default: 1)", "-T1"),
        ("-nthreads N   threads", "-nthreads 1"),
        ("  -threads int\n    \tnumber of threads (default 4)", "-threads 1"),
        ("  -w int\n    \tnumber of worker threads (default 4)", "-w 1"),
        ("  -j, --threads <NUM>\n          The approximate number of threads to use", "--threads 1"),
    ],
)
def test_the_option_is_found(line: str, option: str) -> None:
    text = f"Usage: x [options] file\n  -k INT     k-mer size [15]\n{line}\n  -o FILE    output file\n"
    assert list_single_thread_options(text) == [option]


@pytest.mark.parametrize(
    "line",
    [
        "  -K NUM       minibatch size for each of the threads [500M]",
        "  --stack SIZE   stack size per thread",
        "  --threads      show the threads",
        "  -m MODE        work in this mode: threads or processes",
        "threads are used where it pays",
        "",
    ],
)
def test_other_lines_about_threads_name_no_option(line: str) -> None:
    assert list_single_thread_options(f"Usage: x\n{line}\n  -o FILE    output file\n") == []


@given(st.text(alphabet="-@ tTnN#<>=,|[]:\n\tthreads", max_size=300))
def test_any_text_is_read(text: str) -> None:
    for option in list_single_thread_options(text):
        assert option.startswith("-")
        assert option.endswith("1")
    for option in list_shorter_options(text):
        assert option.startswith("-")
        assert option.endswith("10")


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (" -i <iterations> : number of cycles to run", "-i 10"),
        ("  -n, --numtimes NUM   Run the test NUM times (NUM >= 2)", "--numtimes 10"),
        ("  -n  --numtimes   NUM     Run the test NUM times (NUM >= 2)", "--numtimes 10"),
        ("  -s <size>                Size of H-M Benchmark to run (small, large, XL, XXL)", "-s small"),
        ("      --max-iter=NUM   stop after this many", "--max-iter=10"),
        ("  -t N     maximum number of time steps [1000]", "-t 10"),
        ("\t-n / --nsteps <int>:          set number of timesteps for simulation", "--nsteps 10"),
        ("   --nSteps    -N  arg=1 type=i  number of time steps", "--nSteps 10"),
    ],
)
def test_the_option_for_a_shorter_computation_is_found(line: str, option: str) -> None:
    text = f"Usage: x [options]\n  -k INT     k-mer size [15]\n{line}\n  -o FILE    output file\n"
    assert list_shorter_options(text) == [option]


@pytest.mark.parametrize(
    "line",
    [
        *("  -n NUM  number of regions", "  -s SIZE  size of the small blocks", "  --steps  show"),
        "   --printRate -n  arg=1 type=i  number of steps between output",
    ],
)
def test_other_options_make_no_computation_shorter(line: str) -> None:
    assert list_shorter_options(f"Usage: x\n{line}\n") == []


def test_a_smaller_problem_and_fewer_items_are_tried_together_last() -> None:
    help_text = (
        "Usage: ./XSBench <options>\n"
        "  -t <threads>             Number of OpenMP threads to run\n"
        "  -s <size>                Size of the benchmark to run (small, large, XL)\n"
        "  -p <particles>           Number of particle histories\n"
    )
    assert list_shorter_options(help_text) == ["-s small", "-p 10000", "-s small -p 10000"]


@pytest.mark.parametrize(
    ("lookups", "last_line"),
    [
        ("Number of lookups per history", "Default is equivalent to: -s large -l 34 -p 300000"),
        ("Number of lookups per history (default: 34)", ""),
    ],
)
def test_an_option_is_not_set_to_more_than_its_default(lookups: str, last_line: str) -> None:
    help_text = (
        f"Usage: x\n  -s <size>  Size of the problem (small, large)\n  -l <lookups>  {lookups}\n"
        f"  -p <particles>  Number of particle histories\n{last_line}\n"
    )
    assert list_shorter_options(help_text) == ["-s small", "-p 10000", "-s small -p 10000"]


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (b"\0--num=%d%c\0--iterations=%d\0", ["--num=10000", "--iterations=10"]),
        (b"\0-n=%lu\0--cache_size=%d\0--reads=%d\0", ["-n=10000"]),
        (b"prints--num=%d\0", []),
        (b"\0--num=%s\0", []),
    ],
)
def test_a_program_without_a_help_shows_its_options_where_it_scans_them(program: bytes, options: list[str]) -> None:
    assert list_scanned_options(program) == options
