"""The compilations that are proposed for C and C++ without a build system."""

import pytest

from runner.adoption.build_system_detection import propose_builds
from runner.adoption.systems import c_files
from tests.runner.adoption.listings import listing

MAIN = "int main(void) { return 0; }\n"


def test_the_compilation_that_a_document_shows_is_proposed_benchmarks_first() -> None:
    readme = (
        "```sh\n$ cc -DMAP_TEST map.c && ./a.out              # run tests\n"
        "$ gcc -DMAP_TEST -O3 map.c && BENCH=1 ./a.out  # run benchmarks\n```\n"
    )
    bench, test = propose_builds(listing({"README.md": readme, "map.c": "", "map.h": ""}))
    assert (bench.command, bench.tools) == ("cc -g -O2 -DMAP_TEST -O3 map.c -o map-MAP_TEST", ("cc",))
    (run,) = bench.runs
    assert (run.command, run.environment, run.is_promising) == ("./map-MAP_TEST", {"BENCH": "1"}, True)
    assert (test.command, test.runs) == ("cc -g -O2 -DMAP_TEST map.c -o map-MAP_TEST", ())
    assert test.builds_tests, "it is built although the benchmark may be"


def test_a_comment_at_the_top_of_a_source_shows_a_compilation_too() -> None:
    (build,) = c_files.propose(listing({"p.cpp": f"// build with:\n//   g++ -std=c++17 -o out/../p p.cpp\n{MAIN}"}))[:1]
    assert build.command.startswith("c++ -g -O2 -I."), "no program is written through a parent folder"
    (build,) = c_files.propose(listing({"p.cpp": f"/* g++ -std=c++17 -o ./parse p.cpp\n*/{MAIN}"}))
    assert build.command == "c++ -g -O2 -std=c++17 -o ./parse p.cpp"


@pytest.mark.parametrize(
    "line",
    ["cc -c map.c", "cc map.c your.c", "cc map.c $(pkg-config x)", "cc 'map.c", "cc -o /usr/bin/x map.c", "cc -v"],
)
def test_a_line_that_makes_no_program_of_the_project_is_no_build(line: str) -> None:
    assert c_files.propose(listing({"README.md": f"{line}\n", "map.c": ""})) == []


def test_each_file_with_a_main_function_is_compiled_with_the_files_that_have_none() -> None:
    files = {"src/parse.c": "", "include/parse.h": "", "tool.c": MAIN, "tests/unit.c": MAIN, "vendor/x.c": MAIN}
    files |= {"one.c": f"#ifdef ONE_TEST\n{MAIN}#endif\n", "test/inc.c": f'#include "../one.c"\n{MAIN}'}
    proposals = c_files.propose(listing(files))
    steps = [
        "cc -g -O2 -I. -Iinclude -Isrc -DONE_TEST -o one one.c src/parse.c -lm -lpthread",
        "cc -g -O2 -I. -Iinclude -Isrc -o tool tool.c one.c src/parse.c -lm -lpthread",
        "cc -g -O2 -I. -Iinclude -Isrc -o test-inc test/inc.c src/parse.c -lm -lpthread",
        "cc -g -O2 -I. -Iinclude -Isrc -o tests-unit tests/unit.c one.c src/parse.c -lm -lpthread",
    ]
    assert [proposal.command for proposal in proposals][:5] == [f"sh -c '{' && '.join(steps)}'", *steps]


def test_a_program_is_also_compiled_with_only_the_files_whose_headers_it_includes() -> None:
    files = {"tool.c": f'#include "parse.h"\n{MAIN}', "src/parse.h": '#include "text.h"\n', "src/parse.c": ""}
    files |= {"src/text.h": "", "src/text.c": "", "player/window.cpp": "", "player/player.cpp": MAIN}
    commands = [proposal.command for proposal in c_files.propose(listing(files))]
    assert "c++ -g -O2 -I. -Isrc -o tool tool.c player/window.cpp src/parse.c src/text.c -lm -lpthread" in commands
    assert commands[-2:] == [
        "cc -g -O2 -I. -Isrc -o tool tool.c src/parse.c src/text.c -lm -lpthread",
        "c++ -g -O2 -I. -Isrc -o player-player player/player.cpp -lm -lpthread",
    ]


@pytest.mark.parametrize("options", ["--coverage -O0", "-m32", "-fsanitize=address"])
def test_a_compilation_for_checks_is_left_out_and_the_variable_of_options_ignored(options: str) -> None:
    script = f"gcc {options} -o play play.c -lm\ngcc $CFLAGS -o play play.c -lm\n"
    (build,) = c_files.propose(listing({"scripts/build.sh": script, "play.c": "", "play.h": ""}))
    assert build.command == "cc -g -O2 -o play play.c -lm"


def test_a_script_that_only_starts_a_program_replaces_no_compilation() -> None:
    files = {"scripts/perf.sh": "./play x\n", "play.c": MAIN, "play.h": ""}
    assert [build.system for build in propose_builds(listing(files))] == ["Compiler", "Scripts"]
    scripts = {"requirements.txt": "", "a.py": "", "b.py": "", "x.c": MAIN}
    assert "Compiler" not in {build.system for build in propose_builds(listing(scripts))}, "it is no project in C"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("#if defined(X_BENCH)\nint main(int argc, char **argv) {}\n#endif\n", "-DX_BENCH "),
        ("#ifndef NO_MAIN\nint main() {}\n#endif\n", ""),
        ("#ifdef A\n#else\nint main() {}\n#endif\n", ""),
        ("#ifdef A\nint x;\n#endif\nint main() {}\n", ""),
        ("#ifdef __linux__\n#if X > 2\nint main() {}\n#endif\n#endif\n", ""),
    ],
)
def test_the_macro_that_guards_a_main_function_is_defined(text: str, options: str) -> None:
    (build,) = c_files.propose(listing({"x.c": text}))
    assert build.command == f"cc -g -O2 -I. {options}-o x x.c -lm -lpthread"


def test_a_program_does_not_replace_a_file_or_a_folder() -> None:
    (build,) = c_files.propose(listing({"x.cc": MAIN, "x/data.json": ""}))
    assert build.command == "c++ -g -O2 -I. -o x.out x.cc -lm -lpthread"


def test_a_project_with_a_build_system_is_not_compiled_file_by_file() -> None:
    assert {build.system for build in propose_builds(listing({"Makefile": "all:\n\tcc x.c\n", "x.c": MAIN}))} == {
        "Make"
    }
