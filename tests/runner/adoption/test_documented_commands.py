"""Commands that the documents of a project show for its programs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.adoption.built_programs import BuiltProgram, list_commands
from runner.adoption.documented_commands import DocumentedCommand, list_documented_commands, list_help_commands
from runner.adoption.sources import is_plain_path
from tests.runner.adoption.listings import listing

FILES = dict.fromkeys(("data/words.txt", "test/a.fq", "test/b.fq", "index/x.1.bt", "index/x.2.bt", "sub/c.json"), "")


def find(line: str, document: str = "README.md", **more: str) -> list[DocumentedCommand]:
    """Return the commands of a program that a document with one line shows."""
    sources = listing({**FILES, document: line, "LICENSE": "", **more}, changed=["sub/c.json"])
    return list_documented_commands(sources, ["build/sorter"]).get("build/sorter", [])


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("    $ sorter --input=data/words.txt --vocab 1000 > out.txt", "--input=data/words.txt --vocab 1000"),
        ("```\n./build/sorter -a \\\n  test/a.fq test/b.fq 2>&1 | less\n```", "-a test/a.fq test/b.fq"),
        ("Type `sorter words.txt' to begin.", "data/words.txt"),
        ("make && $HOME/bin/sorter -o out.bin $HOME/test/a.fq  # quickly", "-o out.bin test/a.fq"),
        ("sorter -x index/x -U path/to/a.fq", "-x index/x -U test/a.fq"),
        ("%  sorter encode test/a.fq result.bin", "encode test/a.fq result.bin"),
        ("    sorter -P 1 1 1 -n 50 50 50", "-P 1 1 1 -n 50 50 50"),
        ("`sorter --size=1e6 -t 1`", "--size=1e6 -t 1"),
        ("- sorter: `sorter 'test/a.fq' -t 1`", "test/a.fq -t 1"),
        ("  ./build/sorter -t 1 test/a.fq ran", "-t 1 test/a.fq"),
        ("Both `sort' and `sorter -t 1 test/a.fq' work.", "-t 1 test/a.fq"),
    ],
)
def test_a_command_with_a_file_of_the_project_is_found(line: str, arguments: str) -> None:
    (command,) = find(line)
    assert " ".join(command.arguments) == arguments


@pytest.mark.parametrize(
    "line",
    [
        "sorter [OPTIONS] test/a.fq",
        "sorter 10 20",
        "sorter -f : 0 3 5",
        "sorter -n SIZE -t 1",
        "sorter -/ 1",
        "sorter <input> test/a.fq",
        "sorter test/a.fq ...",
        "sorter ref.fa test/a.fq",
        "sorter $(find . -name '*.fq') test/a.fq",
        "sorter results/test.txt test/a.fq",
        "sorter publish test/a.fq",
        "sorter LICENSE",
        "sorter 'test/a.fq",
        "sorting test/a.fq",
        "The sorter reads test/a.fq",
    ],
)
def test_a_command_that_cannot_be_executed_as_it_stands_is_left_out(line: str) -> None:
    assert not find(line)


def test_a_command_with_a_file_that_has_changed_lately_comes_last_and_is_tried_only_if_others_hardly_work() -> None:
    lines = "sorter c.json test/a.fq\nsorter -x < sub/c.json\nsorter --by=sub/c.json\nsorter test/a.fq\n"
    commands = find(lines)
    assert [command.reads_changed_file for command in commands] == [False, True, True, True]
    many_lines = "".join(f"sorter -{number} sub/c.json\n" for number in range(9))
    first, *others = find(f"{many_lines}sorter test/a.fq\n")
    assert (first.file, len(others)) == ("test/a.fq", 3), "it is not lost among the others"
    sources = listing({**FILES, "README.md": lines, "LICENSE": ""}, "sorter", changed=["sub/c.json"])
    runs = list_commands([BuiltProgram("sorter")], sources)
    assert [(run.command, run.file_may_change) for run in runs[1:3]] == [
        ("./sorter test/a.fq", False),
        ("./sorter sub/c.json test/a.fq", True),
    ]


def test_of_many_commands_one_with_a_benchmark_is_kept() -> None:
    tests = "".join(f"sorter test/{number}.js\n" for number in range(6))
    more = {f"test/{number}.js": "" for number in range(6)} | {"test/microbench.js": ""}
    commands = find(f"{tests}sorter --std test/microbench.js\n", **more)
    assert [command.file for command in commands] == ["test/0.js", "test/1.js", "test/2.js", "test/microbench.js"]
    assert len(find(tests, **more)) == 4


@pytest.mark.parametrize(
    "start", ["$(WINE) ./sorter$(EXE)", "${RUN} $(WRAPPER) build/sorter${EXEEXT}", "@./sorter$(EXE)"]
)
def test_a_recipe_may_have_variables_before_and_after_the_name_of_its_program(start: str) -> None:
    (command,) = find(f"test: sorter$(EXE)\n\t{start} --std test/a.fq\n", "Makefile")
    assert command.arguments == ("--std", "test/a.fq")


def test_a_command_that_go_builds_and_starts_is_found() -> None:
    (command,) = find("test: lint\n\tgo run ./cmd/sorter -resolve ./test/a.fq\n", "Makefile")
    assert command.arguments == ("-resolve", "test/a.fq")


@pytest.mark.parametrize("start", ["mpirun -np 4", "mpiexec -n <px*py>", "srun", "OMP_NUM_THREADS=8 time"])
def test_a_command_that_starts_several_processes_or_threads_is_found(start: str) -> None:
    (command,) = find(f"Type `{start} ./sorter --std test/a.fq' to begin.")
    assert command.arguments == ("--std", "test/a.fq")


def test_a_recipe_and_a_ci_file_show_commands_too() -> None:
    (command,) = find("check: all\n\t@./sorter < test/a.fq > out\n", "Makefile")
    assert command == DocumentedCommand((), "test/a.fq", "test/a.fq")
    assert find("      - run: ./sorter test/a.fq", ".github/workflows/ci.yml")
    assert not find("sorter test/a.fq", "src/sorter.c")


def test_placeholders_of_sizes_are_filled_in() -> None:
    commands = find("./sorter -nx <X prob> -ny <Y prob> -nz <Z prob>", "README.FIRST")
    assert [" ".join(command.arguments) for command in commands[:2]] == ["-nx 64 -ny 64 -nz 64", "-nx 32 -ny 32 -nz 32"]
    assert not find("./sorter -nx <X prob> --mesh <file>")


def test_a_helper_script_that_processes_the_sources_of_the_project_is_a_step_of_the_build() -> None:
    sources = {"runtime/a.um": "", "runtime/b.um": ""}
    assert not find("./sorter a.um b.um", "runtime/embed_runtime.sh", **sources)
    assert find("./sorter a.um b.um", "run_tests.sh", **sources)
    assert find("./sorter test/a.fq", "runtime/embed_runtime.sh", **sources)


@pytest.mark.parametrize(
    ("line", "input_command"),
    [
        ('$ echo -n "pass word" | ./sorter salt -t 2', "echo -n 'pass word'"),
        ("printf 'x%s' 3 | sorter salt -t 2", "printf x%s 3"),
    ],
)
def test_a_command_that_reads_a_written_text_is_found(line: str, input_command: str) -> None:
    (command,) = find(line)
    assert command == DocumentedCommand(("salt", "-t", "2"), "", input_command=input_command)


@pytest.mark.parametrize(
    "line",
    [
        "echo $PASSWORD | sorter salt",
        "echo a > b | sorter",
        "cat ref | sorter salt",
        "echo x | sort",
        "echo `x` | sorter",
        "- sorter: `echo \"with /path/\" | sorter '.*(/.*/)' '$1'`",
    ],
)
def test_a_text_that_needs_more_than_quotes_is_left_out(line: str) -> None:
    assert not find(line)


def test_a_written_text_is_tried_only_if_the_program_refuses_all_files() -> None:
    readme = "echo word | sorter salt\n./sorter -n test/b.fq\n"
    runs = list_commands([BuiltProgram("sorter")], listing({**FILES, "README.md": readme, "LICENSE": ""}, "sorter"))
    (run,) = [run for run in runs if run.reads_text]
    assert (run.command, run.program) == ("sh -c 'echo word | ./sorter salt'", "./sorter")
    assert run.is_fallback
    assert run.is_test
    assert runs.index(run) == len(runs) - 3, "it precedes --version and --help"


def test_a_document_in_a_folder_names_files_in_it() -> None:
    (command,) = find("sorter a.fq", "test/README", **{"old/a.fq": ""})
    assert command.file == "test/a.fq"
    assert not find("sorter a.fq", **{"old/a.fq": ""}), "two files have this name"


def test_a_documented_command_is_tried_before_guesses_and_a_wrapper_before_its_program() -> None:
    readme = "./sort-all test/a.fq\n./sorter -n test/b.fq\n./sorter -r < test/a.fq\n"
    sources = listing({**FILES, "README.md": readme, "sort-all": "#!/bin/sh\n"}, "sorter")
    commands = [run.command for run in list_commands([BuiltProgram("sorter")], sources)]
    assert commands[:4] == [
        "./sort-all test/a.fq",
        "./sorter",
        "./sorter -n test/b.fq",
        "sh -c 'exec ./sorter -r < test/a.fq'",
    ]


def test_of_equal_programs_the_documented_one_comes_first() -> None:
    sources = listing({**FILES, "README": "Type `train test/a.fq' to begin."}, "vectors")
    runs = list_commands([BuiltProgram("scale"), BuiltProgram("train"), BuiltProgram("bench")], sources)
    assert list(dict.fromkeys(run.command.split()[0] for run in runs)) == ["./bench", "./train", "./scale"]


@given(st.text("sorter <>|&;$`'\"\\/.-=\n\t(){}ab1 test/a.fq", max_size=80))
def test_whatever_a_document_says_no_argument_needs_quotes(text: str) -> None:
    for command in find(f"sorter {text}\n`sorter test/a.fq {text}`"):
        assert all(map(is_plain_path, command.arguments))
        assert command.file in {*FILES, ""}, "it may only name sizes"


@pytest.mark.parametrize("option", ["--it's", "--by the", "--a|b", "--$HOME"])
@pytest.mark.parametrize("value", ["data/words.txt", "index/x"])
def test_an_option_that_needs_quotes_is_in_no_command(option: str, value: str) -> None:
    assert find(f'sorter "{option}={value}" < data/words.txt') == []


@pytest.mark.parametrize(
    ("line", "arguments", "kept_input", "stand_in"),
    [
        ("pack -c -i foo.txt -b 4m", "-c -i LICENSE -b 4m", "", "LICENSE"),
        ("pack --input=foo.txt --level=3", "--input=LICENSE --level=3", "", "LICENSE"),
        ("pack photo.ppm out.pk", "tests/a.ppm out.pk", "tests/a.ppm", ""),
    ],
)
def test_a_file_that_only_the_reader_has_is_replaced_by_one_like_it(
    line: str, arguments: str, kept_input: str, stand_in: str
) -> None:
    sources = listing({"README.md": f"    {line}\n", "LICENSE": "", "tests/a.ppm": "", "tests/b.c": ""}, "pack")
    (command,) = list_documented_commands(sources, ["pack"])["pack"]
    assert " ".join(command.arguments) == arguments
    runs = [run for run in list_commands([BuiltProgram("pack")], sources) if run.command == f"./pack {arguments}"]
    assert [(run.input_file, run.stand_in_file) for run in runs] == [(kept_input, stand_in)]


@pytest.mark.parametrize(
    "line", ["pack a.txt b.txt -v", "pack -i foo.zzz -v", "pack -i data/foo.txt -v", "pack b.c -v"]
)
def test_no_other_file_that_only_the_reader_has_is_replaced(line: str) -> None:
    sources = listing({"README.md": f"    {line}\n", "LICENSE": "", "tests/a.c": ""}, "pack")
    assert list_documented_commands(sources, ["pack"]) == {}


def test_a_command_with_a_substitute_comes_after_those_with_their_own_files() -> None:
    sources = listing({"README.md": "    pack foo.txt -v\n    pack tests/a.ppm\n", "LICENSE": "", "tests/a.ppm": ""})
    first, second = list_documented_commands(sources, ["pack"])["pack"]
    assert (first.file, second.file, second.is_substitute) == ("tests/a.ppm", "LICENSE", True)


@pytest.mark.parametrize("start", ["EG. ", "e.g. ", "Example: ", "  ex: $ ", "$ "])
def test_the_help_of_a_program_shows_commands_too(start: str) -> None:
    sources = listing({"LICENSE": "", "tests/a.ppm": ""})
    help_text = f"Usage: pack <options>\n   --input=<name>\n{start}pack -c -i foo.txt\npack --help\n"
    (command,) = list_help_commands(sources, "build/pack", help_text)
    assert (command.arguments, command.is_substitute) == (("-c", "-i", "LICENSE"), True)
    assert list_help_commands(sources, "build/pack_static", help_text) == [command]
    (command,) = list_help_commands(sources, "bin/example", "example tests/a.ppm\n")
    assert command.file == "tests/a.ppm", "the word is its name"
