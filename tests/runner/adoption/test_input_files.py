from string import ascii_lowercase

import pytest

from runner.adoption.built_programs import list_file_runs
from runner.adoption.input_files import (
    find_input_pair,
    find_input_with_partner,
    find_other_input,
    find_source,
    list_inputs,
    list_similar_inputs,
    list_stand_ins,
)
from tests.runner.adoption.listings import listing


def test_the_license_is_read_before_the_readme_which_changes_more_often() -> None:
    files = dict.fromkeys(("README.md", "README", "LICENSE-MIT", "LICENSE-APACHE", "docs/LICENSE"), "Text.")
    assert list_stand_ins(listing(files)) == ["LICENSE-APACHE", "README"]
    assert list_stand_ins(listing({"README.rst": "Text."})) == ["README.rst"]
    assert list_stand_ins(listing({"main.c": "Text."})) == []


def test_an_interpreter_gets_the_benchmarks_and_tests_in_its_own_language() -> None:
    names = ["src/core.wren", "test/api.wren", "test/bench/fib.py", "test/bench/fib.wren", "example/hello.wren"]
    files = dict.fromkeys((*names, "lib/dep/vendor/x.wren", "with space/test.wren"), "")
    languages = dict.fromkeys(("examples/embed/main.go", "testdata/cli/one.tengo"), "")
    assert list_inputs(listing(languages, "tengo"), "bin/tengo") == ["testdata/cli/one.tengo"]
    scripts = dict.fromkeys(("scripts/fib.fe", "src/fe.c"), "")
    assert list_inputs(listing(scripts, "fe"), "./fe") == ["scripts/fib.fe"], "it has no examples or tests"
    assert list_inputs(listing(files, "wren"), "bin/wren_cli") == [
        *("test/bench/fib.wren", "example/hello.wren", "test/api.wren")
    ]
    assert list_inputs(listing(files, "other"), "bin/vm")[:1] == ["test/bench/fib.wren"], "no name says what it reads"


def test_data_of_benchmarks_and_tests_is_an_input_but_sources_and_documents_are_not() -> None:
    files = dict.fromkeys(
        ("tests/a.json", "bench/big.json", "tests/run.sh", "tests/x.c", "tests/README.md", "x.json"), ""
    )
    assert list_inputs(listing(files), "./parse") == ["bench/big.json", "tests/a.json"]
    assert list_inputs(listing({"build/fullbench/a.json": "", "build/fullbench/a.vcxproj": ""}), "./parse") == []
    assert list_inputs(listing({"examples/a.yaml": "", ".github/x.yaml": ""}), "yq") == ["examples/a.yaml"]
    wrong = dict.fromkeys(("tests/errors/a.json", "tests/bad-1.json", "tests/badge.json"), "")
    assert list_inputs(listing(wrong), "./parse") == ["tests/badge.json"], "the others are to be refused"
    cases = dict.fromkeys(("tests/cases/a.html", "tests/expects/a.txt", "tests/expected/b.html"), "")
    assert list_inputs(listing(cases), "./tidy") == ["tests/cases/a.html"], "the others are what it should print"


def test_data_of_a_second_kind_is_an_input_too_and_pages_come_last() -> None:
    files = dict.fromkeys((*(f"demo/{letter}.html" for letter in "abc"), "demo/pirate.obj"), "")
    assert list_inputs(listing(files), "./demo") == ["demo/pirate.obj", "demo/a.html"]
    files = dict.fromkeys((*(f"data/{letter}.json" for letter in "abc"), "data/a.csv", "data/a.xml"), "")
    assert list_inputs(listing(files), "./x") == ["data/a.json", "data/b.json", "data/a.csv"]


@pytest.mark.parametrize("project", ["yaml-cpp", "yaml.cpp", "cpp-yaml", "yaml-python"])
def test_the_language_of_a_project_is_not_what_its_programs_read(project: str) -> None:
    files = dict.fromkeys(("test/a.cpp", "test/a.py", "test/b.yaml", "test/x.json", "test/y.json"), "")
    assert list_inputs(listing(files, project), "build/util/parse")[0] == "test/b.yaml"
    assert "test/a.cpp" not in list_inputs(listing(files, project), "build/util/parse")
    assert list_inputs(listing(files, "simplecpp"), "./simplecpp")[0] == "test/a.cpp"


def test_settings_are_inputs_only_of_a_program_that_is_named_after_their_format() -> None:
    files = dict.fromkeys(("pyproject.toml", "tests/a.toml", "tests/Cargo.toml", "benchmark/x.toml"), "")
    assert list_inputs(listing(files, "go-toml"), "bin/tomljson") == ["benchmark/x.toml", "tests/a.toml"]
    assert list_inputs(listing(files, "tool"), "bin/tool") == []


def test_a_file_of_numbers_without_a_suffix_is_data() -> None:
    files = {"heart_scale": "+1 1:0.708333 2:1 3:-0.320755\n" * 50, "COPYRIGHT": "Copyright 2000-2024\n" * 60}
    files |= {"VERSION": "1.2.3\n", "lib/table": files["heart_scale"]}
    assert list_inputs(listing(files), "./svm-train") == ["heart_scale"]


def test_a_compiler_whose_name_says_so_gets_c() -> None:
    files = dict.fromkeys(("test/arith.c", "main.c", "fizz.md"), "")
    assert list_inputs(listing(files), "chibicc") == ["test/arith.c", "main.c"]
    assert list_inputs(listing(files), "lz4c") == []
    assert list_inputs(listing(files), "md2html") == [], "documents at the top change often"
    assert list_inputs(listing({"test/LICENSE.md": "", "test/spec.md": ""}), "md2html") == ["test/spec.md"]


def test_a_program_that_reads_documents_gets_those_of_the_tests() -> None:
    files = dict.fromkeys(("test/spec.txt", "test/CMakeLists.txt", "test/LICENSE.md", "doc/x.txt", "test/run.py"), "")
    for program in ("md2html", "build/cmark", "markdown", "x-md"):
        assert list_inputs(listing(files), program) == ["test/spec.txt"], program
    for program in ("mdb_stat", "lmd", "jq", "first"):
        assert list_inputs(listing(files), program) == [], program


def test_a_short_kind_is_meant_only_where_it_begins_or_ends_a_name() -> None:
    files = dict.fromkeys(("test/a.js", "bench/d.ig", "bench/e.in"), "")
    assert list_inputs(listing(files), "qjs") == ["test/a.js"]
    assert list_inputs(listing({"mpc.pc": ""}, "mpc"), "mpc") == [], "it is of the build"
    python = listing({"tests/a.py": ""}, "pyyaml")
    assert list_inputs(python, "yaml") == [], "it is only written in Python"
    assert list_inputs(python, "micropython") == ["tests/a.py"]
    go = listing({"runtime.go": "", "runtime_test.go": ""}, "goscript")
    assert list_inputs(go, "bin/goscript") == [], "it is only written in Go"
    assert list_inputs(listing(files), "minigzip") == [], "nor is a file of the build an input"


def test_of_many_inputs_a_few_are_tried_from_the_whole_alphabet() -> None:
    files = dict.fromkeys((*(f"bench/b{letter}.wren" for letter in ascii_lowercase), "test/a.wren"), "")
    chosen = list_inputs(listing(files, "wren"), "wren")
    assert [file.removeprefix("bench/b")[0] for file in chosen] == [*"aeinrv"]


def test_of_many_inputs_the_largest_are_tried_first_unless_they_take_too_long() -> None:
    files = dict.fromkeys((f"bench/b{letter}.wren" for letter in ascii_lowercase), "")
    sizes = {"bench/bb.wren": 2000, "bench/bl.wren": 1000, "bench/bk.wren": 1 << 30}
    chosen = list_inputs(listing(files, "wren"), "wren", lambda file: sizes.get(file, 0))
    assert [file.removeprefix("bench/b")[0] for file in chosen] == [*"blahou"], "the others are from the whole alphabet"
    data = listing(dict.fromkeys(("bench/a.json", "bench/b.json", "bench/large.json"), ""))
    assert list_inputs(data, "./parse", len) == ["bench/large.json", "bench/a.json"]


def test_benchmarks_and_the_largest_tests_get_places_besides_many_examples() -> None:
    examples = [f"examples/{letter}.js" for letter in "abcdefghijkl"]
    files = dict.fromkeys(
        (*examples, "tests/microbench.js", "tests/test_large.js", "tests/test_small.js", "repl.js"), ""
    )
    sizes = {"repl.js": 90_000, "tests/test_large.js": 30_000, "tests/test_small.js": 10}
    chosen = list_inputs(listing(files), "qjs", lambda file: sizes.get(file, 100))
    assert len(chosen) == 6
    assert chosen[0] == "tests/microbench.js"
    assert "tests/test_large.js" in chosen[:4]
    del files["tests/microbench.js"]
    without_benchmark = list_inputs(listing(files), "qjs", lambda file: sizes.get(file, 100))
    assert "tests/test_large.js" in without_benchmark[:4]
    assert len(without_benchmark) == 6


def test_a_file_next_to_its_compressed_form_is_an_input_of_a_compressor() -> None:
    files = ("tests/sample1.bz2", "tests/sample1.ref", "tests/log.gz", "tests/log", "tests/notes.ref", "src/a.c")
    assert list_inputs(listing(dict.fromkeys(files, "")), "bzip2") == ["tests/sample1.ref"]
    assert list_inputs(listing({"tests/a.log2.gz": "", "tests/a.log2": ""}), "pack") == ["tests/a.log2"]


def test_files_of_an_unknown_kind_are_inputs_if_there_are_several_among_the_tests_and_no_others() -> None:
    files = [f"test/{name}/{name}.mesh" for name in ("large", "medium", "small")]
    others = ("test/a.c", "test/b.c", "test/c.c", "test/x.sh", "test/run.out", "doc/a.fig", "doc/b.fig", "doc/c.fig")
    sources = listing(dict.fromkeys((*files, *others), ""))
    assert list_inputs(sources, "bin/hydro", len) == ["test/medium/medium.mesh", files[0]]
    assert list_inputs(listing(dict.fromkeys((*files, "test/a.json"), "")), "bin/hydro") == ["test/a.json"]
    assert list_inputs(listing(dict.fromkeys(files[:2], "")), "bin/hydro") == []


def test_a_program_that_refuses_each_input_gets_one_of_another_kind() -> None:
    files = ("tests/corpus/1.txt", "tests/corpus/2.txt", "tests/a.xml", "_benchmarks/page.html", "src/a.json")
    sources = listing(dict.fromkeys(files, ""))
    inputs = list_inputs(sources, "./pack")
    assert inputs == ["tests/corpus/1.txt", "tests/corpus/2.txt", "tests/a.xml"]
    assert find_other_input(sources, inputs) == "_benchmarks/page.html"
    assert find_other_input(listing(dict.fromkeys(files[:3], "")), inputs) is None
    runs = list_file_runs("pack", "./pack", sources, len, with_stand_ins=False)
    assert [run.is_fallback for run in runs if run.file == "_benchmarks/page.html"] == [True]


def test_a_document_is_an_input_if_it_is_kept_with_the_data_of_benchmarks_or_tests() -> None:
    files = dict.fromkeys(("bench/README.md", "bench/samples/lorem.md", "test/spec.md", "docs/guide.md"), "")
    assert list_inputs(listing(files, "render"), "./render") == ["bench/samples/lorem.md"]
    files = dict.fromkeys(("tests/testdata/alice.txt", "tests/CMakeLists.txt", "tests/database/notes.txt"), "")
    assert list_inputs(listing(files, "pack"), "./pack") == ["tests/testdata/alice.txt"]


def test_a_document_of_the_project_is_an_input_only_of_a_program_that_is_named_after_documents() -> None:
    sources = listing(dict.fromkeys(("docs/guide.md", "doc/news.md", "README.md", "a.yml"), ""))
    assert list_inputs(sources, "markdown_py") == ["docs/guide.md"]
    assert list_inputs(sources, "libyaml-cat") == ["a.yml"]
    assert list_inputs(sources, "cat") == []


def test_the_largest_source_that_is_not_generated_is_found() -> None:
    sizes = {"src/a.js": 200, "src/b.js": 300, "dist/all.js": 1 << 20, "vendor/c.js": 900, "x y.js": 800, "d.py": 700}
    assert find_source(listing(dict.fromkeys(sizes, "")), ".js", sizes.__getitem__) == "src/b.js"
    assert find_source(listing({"a.c": ""}), ".js", sizes.__getitem__) is None


def test_a_pair_of_inputs_is_of_one_kind_and_folder() -> None:
    assert find_input_pair(["test/a.fa", "bench/b.fa", "test/c.fq", "test/d.fa"]) == ("test/a.fa", "test/d.fa")
    assert find_input_pair(["test/a.fa", "bench/b.fa"]) is None


def test_an_input_is_tried_with_the_file_of_another_kind_that_has_its_name() -> None:
    names = [f"test/{name}.{kind}" for name in ("a", "b") for kind in ("mustache", "js", "txt")]
    sources = listing(dict.fromkeys([*names, "test/c.mustache", "test/c.txt", "test/c.out"], ""))
    assert find_input_with_partner(sources, ["test/c.mustache", "test/b.mustache"]) == ("test/b.mustache", "test/b.js")
    assert find_input_with_partner(sources, ["test/c.mustache"]) is None
    runs = list_file_runs("mustache", "./mustache", sources, len, with_stand_ins=False)
    assert [run.command for run in runs if run.is_fallback][1:] == [
        "./mustache test/a.js test/a.mustache",
        "./mustache test/a.mustache test/a.js",
    ]


def test_inputs_that_the_newest_commits_changed_are_chosen_only_if_there_are_no_others() -> None:
    files = dict.fromkeys(("bench/a.json", "bench/b.json", "tests/c.json"), "")
    changed = ("bench/a.json", "bench/b.json")
    assert list_inputs(listing(files, changed=changed), "./parse") == ["tests/c.json"]
    assert list_inputs(listing(files, changed=files), "./parse") == ["bench/a.json", "bench/b.json"]
    documents = dict.fromkeys(("docs/news.md", "docs/syntax.md"), "")
    assert list_inputs(listing(documents, "markdown", changed=["docs/news.md"]), "markdown") == ["docs/syntax.md"]
    sources = dict.fromkeys(("a.py", "b.py"), "")
    assert find_source(listing(sources, changed=["b.py"]), ".py", lambda _: 1) == "a.py"


def test_the_document_of_a_pair_is_the_input_and_the_page_the_expected_output() -> None:
    pairs = [f"test/Tests/{name}.{kind}" for name in ("Tabs", "Links") for kind in ("text", "html")]
    sources = listing(dict.fromkeys([*pairs, "test/other.html"], ""))
    assert list_inputs(sources, "hoedown")[:2] == ["test/Tests/Links.text", "test/Tests/Tabs.text"]
    assert not {file for file in pairs if file.endswith("html")} & set(list_inputs(sources, "hoedown"))


def test_inputs_with_which_a_program_is_not_expected_to_end_are_left_out() -> None:
    files = dict.fromkeys(("test/infiniteloop/a.gv", "test/disabled/heap.gv", "test/unit/a.gv"), "")
    assert list_inputs(listing(files, "gv"), "gv") == ["test/unit/a.gv"]


@pytest.mark.parametrize("folder", ["vectors", "fixtures", "input", "src/inputs"])
def test_files_that_tests_are_fed_with_are_inputs_wherever_they_are_kept(folder: str) -> None:
    files = dict.fromkeys((f"{folder}/{name}.bit" for name in "abc"), "")
    assert list_inputs(listing(files), "./play") == [f"{folder}/a.bit", f"{folder}/b.bit"]
    elsewhere = dict.fromkeys((f"src/inputting/{name}.bit" for name in "abc"), "")
    assert list_inputs(listing(elsewhere), "./play") == []


def test_the_other_inputs_of_a_kind_are_listed_by_their_size() -> None:
    names = (
        "test/a.gv",
        "test/b.gv",
        "test/c.gv",
        "test/new.gv",
        "test/empty.gv",
        "test/error.gv",
        "src/d.gv",
        "test/e.js",
    )
    sizes = {"test/c.gv": 90, "test/empty.gv": 0}
    sources = listing(dict.fromkeys(names, ""), "x", changed=["test/new.gv"])
    assert list_similar_inputs(sources, "test/a.gv", lambda file: sizes.get(file, 9)) == ["test/c.gv", "test/b.gv"]
    starting = {"test/a.gv": "", "test/b.gv": "(os/spawn [])", "test/c.gv": "popen('x')", "test/d.gv": "forks, spawned"}
    assert list_similar_inputs(listing(starting), "test/a.gv", lambda _: 9) == ["test/d.gv"], "it starts no program"
