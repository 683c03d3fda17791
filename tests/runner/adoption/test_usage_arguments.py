import pytest

from runner.adoption.proposal import RunProposal
from runner.adoption.usage_arguments import list_usage_arguments, list_usage_runs


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("usage: pack -c -i FILE", ["-c -i {file}"]),
        ("Usage: ./pack {-c|-d} [-v] -i <input> -o <output>", ["-c -i {file} -o faultwatch-output"]),
        ("Usage:\n  pack [OPTIONS] --input <FILE> --output=<OUT>", ["--input {file} --output faultwatch-output"]),
        ("usage: pack [-123] -x <input file name>", ["-x {file}"]),
        ("usage: pack -t <table>", []),
        ("usage: pack (encode|decode)\n            <infile>", ["encode {file}"]),
        ("usage: pack [-x [level]] file", []),
        ("usage: pack dbpath", []),
        ("usage: pack (delete|list) FILE", []),
        ("usage: pack --install FILE", []),
        ("usage: pack [options]\n  -f <file>  load a graph from a file\n", ["-f {file}"]),
        ("Usage of ./pack:\n  -in string\n    \tinput file\n", ["-in {file}"]),
        ("pack\n -h          : print this help\n -f <file>   : load graph from file\n", ["-f {file}"]),
        ("usage: pack [options]\n  -f, --force  overwrite the output\n  -i  ignore case", []),
        ("pack packs files\n  -c  compress\n  -d  decompress\n  -i <file>\n", ["-c -i {file}", "-i {file}"]),
        ("pack packs files\n  -i <count>\n  -f FILE", []),
        ("pack packs", []),
    ],
)
def test_the_usage_says_with_which_arguments_a_program_takes_a_file(text: str, arguments: list[str]) -> None:
    assert list_usage_arguments(text) == arguments


def test_the_inputs_of_a_project_get_the_arguments_and_the_output_their_suffix() -> None:
    license_run = RunProposal("./x COPYING", stand_in_file="COPYING")
    song, expression = (
        RunProposal(command, input_file="t/a.wav", is_fallback=command != "./x t/a.wav")
        for command in ("./x t/a.wav", "./x . t/a.wav")
    )
    text = "usage: x -i INPUT -o OUTPUT"
    runs = list_usage_runs("./x", text, [song, expression, license_run])
    assert [run.command for run in runs] == ["./x -i t/a.wav -o faultwatch-output.wav"]
    assert (runs[0].input_file, runs[0].is_fallback) == ("t/a.wav", False)
    assert [run.stand_in_file for run in list_usage_runs("./x", text, [license_run])] == ["COPYING"]
