import shutil
import subprocess
from pathlib import Path

from runner.adoption.built_programs import (
    BuiltProgram,
    _rank_program,
    add_file_runs,
    find_built_programs,
    list_commands,
)
from runner.adoption.proposal import RunProposal
from runner.adoption.server_proposals import get_program
from tests.runner.adoption.listings import listing

HEXYL = listing({"README.md": ""}, "hexyl")


def test_only_programs_that_the_build_made_are_returned(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return 0; }\n")
    examples = ("target/release/examples/count", "target/release/examples/count-a0f0a7fc3e6da6e7")
    for name in (
        "program",
        "build/CMakeFiles/probe",
        "build/app",
        "committed",
        "target/release/deps/app-1f",
        *examples,
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-o", tmp_path / name, source], check=True)
    subprocess.run(["cc", "-static", "-o", tmp_path / "static", source], check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "plugin", source], check=True)
    for name in ("it's", "a;b", "$(c)", "two words"):  # a shell would read something else
        shutil.copy(tmp_path / "program", tmp_path / name)
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "link").symlink_to("program")
    (tmp_path / "empty").touch(0o755)
    found = find_built_programs(tmp_path, ["x.c", "committed"])
    assert [program.name for program in found] == ["build/app", "program", "static", examples[0]]


def test_a_program_with_the_benchmark_library_is_recognised(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text('const char *option = "benchmark_out_format";\nint main(void) { return option == 0; }\n')
    subprocess.run(["cc", "-o", tmp_path / "speed", source], check=True)
    (program,) = find_built_programs(tmp_path, [])
    assert program.uses_google_benchmark
    (run, *_) = list_commands([BuiltProgram("zlib"), program], listing({}, "zlib"))
    assert run.command == "./speed --benchmark_min_time=10x --benchmark_format=json"
    assert run.output == "google-benchmark"


def test_benchmarks_come_first_then_the_projects_own_program_and_tests_late() -> None:
    names = [
        "build/test/unit",
        "lz4",
        "build/lz4_bench",
        "examples/speed_test_array",
        "examples/demo",
        "other",
        "fuzz/fuzz_x",
        "third_party/b/bench",
    ]
    ordered = sorted(map(BuiltProgram, names), key=lambda program: _rank_program(program, "lz4"))
    assert [program.name for program in ordered] == [
        *(
            "build/lz4_bench",
            "examples/speed_test_array",
            "lz4",
            "other",
            "examples/demo",
            "build/test/unit",
            "fuzz/fuzz_x",
            "third_party/b/bench",
        ),
    ]


def test_a_program_is_tried_alone_then_with_a_file_then_with_usual_options() -> None:
    commands = [run.command for run in list_commands([BuiltProgram("hexyl")], HEXYL)]
    with_file = ["./hexyl README.md", "./hexyl README.md faultwatch-output.md"]
    # Programs that search for an expression, or replace what matches it.
    with_further_words = ["./hexyl . README.md", "./hexyl . x README.md"]
    assert commands == ["./hexyl", *with_file, *with_further_words, "./hexyl --version", "./hexyl --help"]


def test_an_example_gets_files_that_stand_in_for_inputs_only_if_there_is_no_other_program() -> None:
    example = BuiltProgram("examples/pack")

    def list_files(*programs: BuiltProgram) -> list[str]:
        return [run.stand_in_file for run in list_commands(programs, HEXYL) if run.command.startswith(example.name)]

    assert "README.md" in list_files(example)
    assert "README.md" not in list_files(example, BuiltProgram("hexyl"))


def test_a_test_is_also_started_in_its_own_folder_where_its_data_may_lie() -> None:
    alone, in_folder = list_commands([BuiltProgram("build/test_x")], HEXYL)
    assert (alone.command, in_folder.command) == ("build/test_x", "sh -c 'cd build && exec ./test_x'")
    assert get_program(in_folder) == get_program(alone)
    assert in_folder.is_test
    assert [run.command for run in list_commands([BuiltProgram("test_x")], HEXYL)] == ["./test_x"]


def test_a_program_without_input_may_do_nothing_unless_it_is_a_benchmark() -> None:
    runs = list_commands(
        [BuiltProgram("x"), BuiltProgram("x_bench"), BuiltProgram("y", uses_google_benchmark=True)],
        listing({"README.md": ""}, "x"),
    )
    assert [run.command for run in runs if run.may_do_nothing] == ["./x", "./x --version", "./x --help"]
    assert not any(run.is_test for run in runs)
    tests = BuiltProgram("build/xmltest"), BuiltProgram("test/unit")
    assert all(run.is_test for run in list_commands(tests, listing({}, "tinyxml")))
    with_stand_in = [run for run in runs if run.stand_in_file and not run.is_fallback]
    assert [run.command for run in with_stand_in] == ["./x_bench README.md", "./x README.md"]


def test_an_input_of_the_project_is_tried_before_its_license() -> None:
    sources = listing(dict.fromkeys(("LICENSE", "bench/fib.lua"), ""), "lua")
    runs = [run for run in list_commands([BuiltProgram("lua")], sources) if not run.is_fallback]
    assert [(run.command, run.input_file, run.stand_in_file) for run in runs[1:3]] == [
        ("./lua bench/fib.lua", "bench/fib.lua", ""),
        ("./lua LICENSE", "", "LICENSE"),
    ]
    (alone, _, given) = list_commands([BuiltProgram("bin/lua_test")], sources)
    assert (alone.is_test, given.command) == (True, "bin/lua_test bench/fib.lua"), (
        "a test runner reads inputs, no license"
    )
    assert runs[1].is_promising
    assert not runs[2].is_promising


def test_two_inputs_at_once_are_for_a_program_that_refuses_one() -> None:
    runs = list_commands([BuiltProgram("align")], listing(dict.fromkeys(("test/a.fa", "test/b.fa"), "")))
    assert [(run.command, run.is_fallback) for run in runs[1:4]] == [
        ("./align test/a.fa", False),
        ("./align test/b.fa", False),
        ("./align test/a.fa test/b.fa", True),
    ]


def test_a_program_that_refuses_a_file_alone_gets_an_expression_before_it() -> None:
    runs = list_commands([BuiltProgram("search")], listing(dict.fromkeys(("LICENSE", "test/a.json"), "")))
    runs = [run for run in runs if "faultwatch-output" not in run.command]
    assert [(run.command, run.file, run.is_fallback) for run in runs[1:5]] == [
        ("./search test/a.json", "test/a.json", False),
        ("./search . test/a.json", "test/a.json", True),
        ("./search LICENSE", "LICENSE", False),
        ("./search . LICENSE", "LICENSE", True),
    ], "without one, the license could be the expression for which all files are searched"


def test_an_expression_precedes_a_file_of_each_kind_before_further_files_of_one_kind() -> None:
    files = dict.fromkeys((*(f"test/{letter}.jq" for letter in "abcdefgh"), "test/a.json"), "")
    runs = list_commands([BuiltProgram("jq")], listing(files, "jq"))
    files_after_expression = [
        run.file for run in runs if run.command.startswith("./jq . ") and " x " not in run.command
    ]
    assert files_after_expression[:2] == ["test/a.jq", "test/a.json"]
    assert len(files_after_expression) == 6


def test_a_program_that_converts_a_file_gets_the_name_of_one_to_write() -> None:
    runs = list_commands([BuiltProgram("pack")], listing({"test/a.json": ""}))
    (writing,) = [run for run in runs if "faultwatch-output" in run.command]
    assert (writing.command, writing.is_fallback) == ("./pack test/a.json faultwatch-output.json", True)
    commands = [run.command for run in list_commands([BuiltProgram("pack")], listing({"LICENSE": ""}))]
    assert commands.index("./pack LICENSE faultwatch-output") < commands.index("./pack . LICENSE"), (
        "it would overwrite the license"
    )


def test_a_benchmark_that_refuses_to_work_alone_gets_a_stand_in() -> None:
    commands = [run.command for run in list_commands([BuiltProgram("trie-benchmark")], listing({"LICENSE": ""}))]
    assert commands == ["./trie-benchmark", "./trie-benchmark LICENSE"]


def test_a_compiler_compiles_an_input_and_starts_neither_assembler_nor_linker() -> None:
    runs = list_commands([BuiltProgram("chibicc")], listing({"test/arith.c": ""}))
    assert "./chibicc -S -o /dev/null test/arith.c" in [run.command for run in runs]
    runs = list_commands([BuiltProgram("mawk")], listing({"examples/wc.awk": ""}))
    assert "./mawk -f examples/wc.awk" in [run.command for run in runs]


def test_a_module_gets_files_that_its_name_asks_for_then_stand_ins_then_a_source() -> None:
    program = "venv/bin/python -m markdown"
    start = RunProposal(program, may_do_nothing=True, program=program, takes_files=True)
    files = dict.fromkeys(("docs/index.md", "docs/guide.md", "LICENSE", "markdown/core.py", "markdown/all.py"), "")
    sizes = {"docs/guide.md": 900, "markdown/core.py": 800, "markdown/all.py": 1 << 20}
    runs = add_file_runs([start, RunProposal("bench")], listing(files), lambda file: sizes.get(file, 0))
    assert [run.command for run in runs if not run.is_fallback] == [
        program,
        f"{program} docs/guide.md",
        f"{program} docs/index.md",
        f"{program} LICENSE",
        f"{program} markdown/core.py",
        "bench",
    ]
    assert [run.is_promising for run in runs if not run.is_fallback] == [False, True, True, False, False, True]
    assert {run.program for run in runs} == {program, ""}


def test_a_benchmark_that_refuses_to_start_gets_inputs() -> None:
    sources = listing({"tests/a.json": "", "tests/a.test": "", "LICENSE": ""})
    commands = [run.command for run in list_commands([BuiltProgram("tests/test_speed")], sources)]
    assert commands == ["tests/test_speed", "tests/test_speed tests/a.json"]


def test_a_test_also_starts_with_the_folders_that_the_makefile_makes() -> None:
    makefile = "test:\n\tmkdir testdb && ./mtest\n"
    runs = list_commands([BuiltProgram("lib/mtest")], listing({"lib/Makefile": makefile}))
    assert [run.command for run in runs] == [
        *("lib/mtest", "sh -c 'cd lib && exec ./mtest'", "sh -c 'cd lib && mkdir -p testdb && exec ./mtest'")
    ]
    runs = list_commands([BuiltProgram("mtest")], listing({"Makefile": makefile}))
    assert [run.command for run in runs] == ["./mtest", "sh -c 'mkdir -p testdb && exec ./mtest'"]


def test_a_test_may_find_its_data_in_the_folder_of_its_source() -> None:
    files = {"lib/test/unit.c": "", "lib/test/unit.ini": ""}
    runs = list_commands([BuiltProgram("build/lib/test/unit")], listing(files))
    assert [run.command for run in runs][:3] == [
        "build/lib/test/unit",
        "sh -c 'cd build/lib/test && exec ./unit'",
        "sh -c 'cd lib/test && exec ../../build/lib/test/unit'",
    ]
    assert {get_program(run) for run in runs} == {"build/lib/test/unit"}
    for name in ("lib/test/unit", "build/test/unit"):
        assert len(list_commands([BuiltProgram(name)], listing(files))) == 2, "no source lies in test"
