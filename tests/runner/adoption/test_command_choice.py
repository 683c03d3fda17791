import pytest
from msgspec.structs import replace

from runner.adoption.command_choice import (
    choose_best_command,
    count_start_faults,
    find_bare_command,
    has_command_with_work,
    has_tried_enough,
    list_commands_with_files,
    list_descriptions,
    mark_imports,
    works_on_folder,
)
from runner.adoption.proposal import RunProposal
from runner.adoption.tried_command import TriedCommand


def tried(command: str, *faults: int) -> TriedCommand:
    return TriedCommand(RunProposal(command), faults, "" if faults else "it failed")


@pytest.mark.parametrize(
    ("results", "command"),
    [
        ([tried("./x", 5, 5, 5)], "./x"),
        ([tried("./x", 5, 5, 5), tried("./x README", 6, 6, 6)], "./x README"),
        ([tried("./x", 5, 5, 5), tried("./x README", 5, 5, 5)], "./x"),
        ([tried("./x", 5, 5, 5), tried("./x README")], "./x"),
        ([tried("./x", 5, 5, 5), tried("./x LICENSE", 5, 5, 5), tried("./x README", 6, 6, 6)], "./x README"),
        ([tried("./x", 350, 360, 370), tried("./x README", 375, 380, 385)], "./x"),
        ([tried("./x", 350, 360, 370), tried("./x README", 900, 905, 910)], "./x README"),
        ([tried("./fd", 316, 345, 330), tried("./fd README", 320, 320, 320)], "./fd README"),
        ([tried("./fd LICENSE", 2369, 2504, 2400), tried("./fd README", 2415, 2416, 2416)], "./fd README"),
        ([tried("./x"), tried("./x --help", 9, 9, 9)], "./x --help"),
        ([tried("./bench", 9, 9, 9), tried("./y README", 9, 9, 9)], "./bench"),
    ],
)
def test_the_first_command_that_works_or_with_a_file_that_the_program_reads(
    results: list[TriedCommand], command: str
) -> None:
    chosen = choose_best_command(results)
    assert chosen
    assert chosen.run.command == command


def test_a_slow_test_comes_before_one_that_touches_hardly_any_memory() -> None:
    slow, quick = (
        TriedCommand(
            RunProposal(f"./test_{name}", may_do_nothing=True, is_test=True),
            (faults,) * 3,
            cpu_seconds=seconds,
            seconds=seconds,
        )
        for name, faults, seconds in (("dynamic", 7741, 9.0), ("static", 95, 0.3))
    )
    assert choose_best_command([slow, quick]) is slow
    assert choose_best_command([slow, replace(quick, faults=(900,) * 3)]) is not slow


def test_of_the_subcommands_that_work_with_a_stand_in_a_quick_one_is_chosen() -> None:
    slow, quick = (
        TriedCommand(
            RunProposal(f"./x {name} LICENSE", stand_in_file="LICENSE"), (faults,) * 3, seconds=seconds, own_bytes="d"
        )
        for name, faults, seconds in (("train", 250_954, 11.0), ("label", 29_498, 0.5))
    )
    assert choose_best_command([slow, quick]) is quick
    assert choose_best_command([replace(slow, seconds=0.6), quick]) is not quick


def test_a_benchmark_that_takes_no_more_than_a_start_is_not_enough() -> None:
    bench = replace(tried("./perf-alloc", 71, 71, 71), cpu_seconds=0.002)
    assert not has_tried_enough({"./perf-alloc": [bench]}, "./other")
    computing = replace(bench, cpu_seconds=0.3)
    assert not has_tried_enough({"./perf-alloc": [computing]}, "./other"), "it touches hardly any memory"
    assert has_tried_enough({"./perf-alloc": [replace(computing, faults=(900,) * 3)]}, "./other")
    chosen = choose_best_command(
        [bench, replace(tried("./scan", 900, 900, 900), run=RunProposal("./scan a", input_file="a"))]
    )
    assert chosen
    assert chosen.run.command == "./scan a"


def test_an_example_that_computes_for_long_comes_before_a_test_that_does_little() -> None:
    example = TriedCommand(
        RunProposal("bin/example6", may_do_nothing=True), (12_590,) * 3, seconds=2.9, cpu_seconds=1.4, own_faults=20
    )
    test = TriedCommand(
        RunProposal("bin/tests", is_test=True, may_do_nothing=True),
        (254,) * 3,
        seconds=0.01,
        cpu_seconds=0.003,
        own_faults=90,
    )
    assert choose_best_command([example, test]) is example, "only the load of the host makes it slow"
    assert choose_best_command([replace(example, cpu_seconds=2.8), test]) is test, "it is slow"
    larger_test = replace(test, cpu_seconds=0.5)
    assert choose_best_command([example, larger_test]) is larger_test


def test_of_the_examples_the_one_that_touches_most_memory_is_measured() -> None:
    results = [
        TriedCommand(RunProposal(f"bin/{name}", may_do_nothing=True), faults)
        for name, faults in (("example1", (88,) * 3), ("example6", (12_590,) * 3), ("inflate", (20_000,) * 3))
    ]
    chosen = choose_best_command(
        [*results, TriedCommand(RunProposal("bin/example2", may_do_nothing=True), (), "it needs a file")]
    )
    assert chosen
    assert chosen.run.command == "bin/example6"
    alone = choose_best_command(results[2:] + results[:2])
    assert alone
    assert alone.run.command == "bin/inflate", "the first is the most telling"


def test_an_input_with_which_a_count_is_much_steadier_was_read() -> None:
    start = TriedCommand(RunProposal("./x", may_do_nothing=True), (11_568, 12_000, 13_835))
    steady = TriedCommand(RunProposal("./x a.svg", input_file="a.svg"), (14_336, 14_440, 14_657))
    varying = TriedCommand(RunProposal("./x b.svg", input_file="b.svg"), (13_280, 14_000, 15_027))
    assert choose_best_command([start, varying, steady]) is steady
    assert choose_best_command([start, varying]) is start
    below = replace(steady, faults=(11_000, 11_200, 11_300))
    assert choose_best_command([start, below]) is start
    unopened = [replace(result, own_bytes="aa") for result in (start, steady)]
    assert choose_best_command(unopened) is unopened[0]


def test_a_file_that_was_not_opened_makes_no_count_steadier() -> None:
    start = TriedCommand(RunProposal("bin/xhpcg", may_do_nothing=True), (991, 993, 992), own_bytes="aa")
    unopened = TriedCommand(RunProposal("bin/xhpcg LICENSE", stand_in_file="LICENSE"), (992,) * 3, own_bytes="aa")
    assert choose_best_command([start, unopened]) is start
    opened = replace(unopened, own_bytes="bb")
    assert choose_best_command([start, opened]) is opened


def test_a_program_that_computes_for_long_without_a_file_gets_none_that_hardly_adds_to_its_work() -> None:
    bare = TriedCommand(RunProposal("./proxy", may_do_nothing=True), (45_496, 45_516), own_bytes="a", cpu_seconds=4)
    with_file = TriedCommand(
        RunProposal("./proxy README", stand_in_file="README"), (45_896, 45_897), own_bytes="b", cpu_seconds=4
    )
    chosen = choose_best_command([bare, with_file])
    assert chosen is bare
    assert choose_best_command([replace(bare, cpu_seconds=0.01), with_file]) is with_file
    assert choose_best_command([bare, replace(with_file, faults=(90_000, 90_000))]) is not bare


def test_a_stand_in_that_the_program_does_not_read_is_no_work() -> None:
    start = TriedCommand(RunProposal("bin/gen", may_do_nothing=True), (258, 278, 260))
    with_license = TriedCommand(RunProposal("bin/gen LICENSE", stand_in_file="LICENSE"), (278, 288, 270))
    assert not has_command_with_work([start, with_license])
    assert has_command_with_work([start, replace(with_license, faults=(900, 910, 905))])
    assert not has_command_with_work([])


def test_an_example_that_hardly_does_more_than_import_the_project_only_starts() -> None:
    example = TriedCommand(RunProposal("python examples/a.py", may_do_nothing=True, is_test=True), (2_797,) * 3)
    importing = TriedCommand(RunProposal('python -c "import x"', may_do_nothing=True), (2_750,) * 3)
    marked, _ = mark_imports([example, importing])
    assert marked.only_imports
    assert marked.may_only_start
    assert not has_command_with_work([marked])
    assert not replace(marked, cpu_seconds=3.0).may_only_start, "it computes for long"
    assert replace(marked, cpu_seconds=0.5).may_only_start, "an interpreter takes long to start"
    native = replace(marked, run=RunProposal("build/xhpcg", may_do_nothing=True), cpu_seconds=0.5)
    assert not native.may_only_start
    assert mark_imports([replace(example, faults=(3_500,) * 3), importing])[0].may_only_start is False
    assert mark_imports([example]) == [example], "the import failed, or was not tried"


def test_of_many_test_programs_the_one_with_the_most_faults_is_measured() -> None:
    tests = [
        TriedCommand(RunProposal(f"bin/test_{name}", may_do_nothing=True, is_test=True), (faults,) * 3, own_faults=own)
        for name, faults, own in (("array", 54, 30), ("chaos", 65, 20), ("load", 57, 20), ("copy", 300, 20))
    ]
    start = TriedCommand(RunProposal("bin/parse", may_do_nothing=True), (400,) * 3)
    chosen = choose_best_command([start, *tests])
    assert chosen
    assert chosen.run.command == "bin/test_copy"
    programs = {result.run.command: [result] for result in [start, *tests[:3]]}
    assert not has_tried_enough(programs, "bin/test_copy")
    reading = TriedCommand(RunProposal("bin/print LICENSE", stand_in_file="LICENSE"), (90,) * 3)
    assert has_tried_enough({**programs, "bin/print": [reading]}, "bin/test_copy")


@pytest.mark.parametrize(
    ("highest", "chosen"), [(7_103, "pytest test"), (7_110, "pytest test"), (7_150, "pytest test/test_except.py")]
)
def test_all_tests_are_measured_although_their_count_varies_by_a_few_faults_of_thousands(
    highest: int, chosen: str
) -> None:
    results = [
        TriedCommand(RunProposal(command, may_do_nothing=True, is_test=True, program=command), faults)
        for command, faults in (
            ("pytest test", (7_101, 7_102, highest)),
            ("pytest test/test_except.py", (5_666, 5_666, 5_666)),
        )
    ]
    best_command = choose_best_command(results)
    assert best_command
    assert best_command.run.command == chosen


def test_of_the_subcommands_that_read_one_input_the_one_with_the_most_faults_is_measured() -> None:
    results = [
        TriedCommand(RunProposal(f"./x {name} a.fq", input_file="a.fq"), (faults,) * 3, own_bytes="a")
        for name, faults in (("seq", 87), ("check", 115), ("trim", 92))
    ]
    chosen = choose_best_command(results)
    assert chosen
    assert chosen.run.command == "./x check a.fq"


def test_programs_that_take_no_more_than_a_start_are_not_enough() -> None:
    starts = {
        f"bin/{name}": [TriedCommand(RunProposal(f"bin/{name}", may_do_nothing=True), (57,) * 3, cpu_seconds=0.001)]
        for name in "abcd"
    }
    assert not has_tried_enough(starts, "bin/e")
    works = {"bin/d": [replace(starts["bin/d"][0], faults=(300,) * 3)]}
    assert has_tried_enough({**starts, **works}, "bin/e")
    starts |= {f"bin/{number}": starts["bin/a"] for number in range(9)}
    assert has_tried_enough(starts, "bin/e"), "they are too many"


def test_an_example_that_computes_for_long_comes_before_one_that_may_only_start() -> None:
    quick = TriedCommand(RunProposal("bin/example2", may_do_nothing=True), (142,) * 3, seconds=0.02)
    slow = TriedCommand(
        RunProposal("bin/example6", may_do_nothing=True), (12_590,) * 3, seconds=9.0, cpu_seconds=3.0, own_faults=9
    )
    assert choose_best_command([quick, slow]) is slow
    assert choose_best_command([quick, replace(slow, cpu_seconds=0.1)]) is quick, "it only waits"
    plain_quick, plain_slow = (replace(result, run=RunProposal("./x", may_do_nothing=True)) for result in (quick, slow))
    assert (
        choose_best_command([plain_quick, replace(plain_slow, run=replace(slow.run, command="./y"))]) is not plain_quick
    )


@pytest.mark.parametrize(("bytes_with_file", "command"), [("aa", "./x"), ("bb", "./x README"), ("", "./x README")])
def test_a_program_whose_count_varies_has_not_read_a_file_that_it_did_not_open(
    bytes_with_file: str, command: str
) -> None:
    plain = TriedCommand(RunProposal("./x"), (116, 117, 116), own_bytes="aa")
    given = TriedCommand(RunProposal("./x README"), (119, 120, 119), own_bytes=bytes_with_file)
    chosen = choose_best_command([plain, given])
    assert chosen
    assert chosen.run.command == command


def run(command: str, faults: int = 90, own: int = 20, **keys: object) -> TriedCommand:
    """Return a command whose count repeats."""
    is_foreign = bool(keys.pop("is_foreign", False))
    return TriedCommand(
        RunProposal(command, **keys), (faults,) * 3, own_faults=own, own_bytes=command, is_foreign=is_foreign
    )


def test_a_program_with_an_input_of_the_project_comes_before_stand_ins_and_starts() -> None:
    start, license_read = run("./lua", 79, may_do_nothing=True), run("./lua LICENSE", 85, stand_in_file="LICENSE")
    chosen = choose_best_command([start, license_read, run("./lua tests/api.lua", 140, 60, input_file="tests/api.lua")])
    assert chosen
    assert chosen.run.input_file == "tests/api.lua"
    little = run("./lua tests/gc.lua", 85, 60, input_file="tests/gc.lua")
    varying = replace(
        little, faults=(121, 123, 121), own_bytes="math", run=replace(little.run, input_file="tests/math.lua")
    )
    assert choose_best_command([start, little, varying]) is varying, "steadiness is worth nothing without work"
    unread = replace(run("./lua tests/api.lua", 79, input_file="tests/api.lua"), own_bytes=start.own_bytes)
    chosen = choose_best_command([start, unread])
    assert chosen
    assert chosen.run.command == "./lua", "the program did not open the file"


def test_of_equals_the_one_that_repeats_and_executes_more_of_the_project_is_measured() -> None:
    some, more = run("./x LICENSE", stand_in_file="LICENSE"), run("./x_test", own=50, may_do_nothing=True, is_test=True)
    chosen = choose_best_command([some, more])
    assert chosen is more
    varying = replace(more, faults=(90, 91, 90))
    assert choose_best_command([some, varying]) is some
    inputs = [
        run(f"./x {name}", faults, own, input_file=name) for name, faults, own in (("a.x", 90, 30), ("b.x", 95, 70))
    ]
    assert choose_best_command([some, *inputs]) is inputs[1], "it asks for more work"
    assert choose_best_command([inputs[0], replace(inputs[1], seconds=9.0)]) is inputs[0], "the other is slow"
    redirected = run("sh -c 'exec ./x < c.x'", own=99, input_file="c.x")
    assert choose_best_command([*inputs, redirected]) is inputs[1], "the shell's faults would be counted too"
    assert choose_best_command([*inputs, benchmark := run("./bench", own=1)]) is benchmark


def test_scripts_of_one_interpreter_are_programs_of_their_own() -> None:
    first, second = (run(f"venv/bin/python bench_{name}.py", faults, 0) for name, faults in (("a", 900), ("b", 950)))
    assert choose_best_command([first, second]) is second, "it takes more faults, and nothing shows its own code"
    examples = [
        run(f"venv/bin/python examples/{name}.py", faults, 0, may_do_nothing=True, is_test=True)
        for name, faults in (("calc", 900), ("json", 2900))
    ]
    importing = run('venv/bin/python -c "import p"', 800, 0, may_do_nothing=True)
    assert choose_best_command([*examples, importing]) is examples[1]
    varying = replace(examples[1], faults=(2900, 2920, 2900))
    assert choose_best_command([examples[0], varying, importing]) is examples[0]
    assert choose_best_command([*examples, first, importing]) is first


def test_a_command_that_executes_nothing_of_the_project_is_the_last_choice() -> None:
    foreign, version = run("python3 bench/port.py", 1431, is_foreign=True), run("./x --version", may_do_nothing=True)
    assert choose_best_command([foreign, version]) is version
    assert choose_best_command([foreign]) is foreign
    assert not foreign.did_work


def test_nothing_works() -> None:
    assert choose_best_command([tried("./x"), tried("./y")]) is None


def test_programs_without_an_input_are_surpassed_by_a_few_others_one_with_an_input_by_none() -> None:
    weak = {f"./{name}": [run(f"./{name} LICENSE", stand_in_file="LICENSE")] for name in "abc"}
    assert not has_tried_enough(weak, "./c"), "only two others have worked"
    assert has_tried_enough(weak, "./d")
    strong = {"./a": [run("./a", may_do_nothing=True), run("./a x.json", 95, input_file="x.json")]}
    assert has_tried_enough(strong, "./b")
    assert not has_tried_enough(strong, "./a"), "the same program may have another input"
    unread = replace(strong["./a"][1], own_bytes=strong["./a"][0].own_bytes)
    assert not has_tried_enough({"./a": [strong["./a"][0], unread]}, "./b")
    slow = [replace(result, seconds=5.0) for result in weak["./a"]]
    assert not has_tried_enough({"./a": slow}, "./b"), "the others may be quick"
    assert has_tried_enough({"./a": slow, "./b": slow}, "./c"), "it takes too long to look for a better one"


def test_other_inputs_of_the_program_are_repeated_where_the_first_does_not_grow() -> None:
    start = run("./x", 60, may_do_nothing=True)
    given = [run(f"./x {name}", faults, input_file=name) for name, faults in (("a", 84), ("b", 88), ("c", 86))]
    other, license_read = run("./y a", 90, input_file="a"), run("./x LICENSE", 89, stand_in_file="LICENSE")
    tried = [start, *given, other, license_read, run("./x d", 83, input_file="d")]
    assert list_commands_with_files(given[1], tried) == [given[1], given[2], given[0]]
    assert list_commands_with_files(run("./bench"), tried) == []
    unread = replace(given[0], own_bytes=start.own_bytes)
    assert list_commands_with_files(start, [start, unread, given[1]]) == [given[1]]
    refusing = replace(given[2], run=replace(given[2].run, is_fallback=True))
    assert list_commands_with_files(refusing, [start, refusing]) == [refusing]


def test_the_start_of_a_program_is_its_command_without_an_input() -> None:
    given = run("./x a.json", 95, input_file="a.json")
    tried = [
        run("./x", 80, may_do_nothing=True),
        run("./other", 40, may_do_nothing=True),
        run("./x --help", 79, may_do_nothing=True),
        given,
    ]
    assert count_start_faults(given, tried) == 79
    assert count_start_faults(given, [given]) == 0
    asking = replace(given, run=RunProposal("./x --help"), faults=(60, 61), prints_usage=True)
    assert count_start_faults(given, [asking, given]) == 60, "a container starts it so"
    runs = [RunProposal(name) for name in ("./x", "./x --help", "./other --help")]
    assert list_descriptions(given, runs) == [runs[1]]


@pytest.mark.parametrize(("folder_faults", "command"), [((1500, 1507), "./x t/data"), ((600, 603), "./x t/data/b")])
def test_a_program_that_works_on_folders_gets_the_folder_of_its_inputs(
    folder_faults: tuple[int, ...], command: str
) -> None:
    results = [
        TriedCommand(RunProposal("./x", may_do_nothing=True), (3372, 3457), own_bytes="everything"),
        *(
            TriedCommand(RunProposal(f"./x t/data/{name}", input_file=f"t/data/{name}"), faults, own_bytes=name)
            for name, faults in (("a", (230, 230)), ("b", (490, 490)))
        ),
    ]
    with_folder = TriedCommand(
        RunProposal("./x t/data", input_file="t/data", is_folder=True), folder_faults, own_bytes="t/data"
    )
    assert works_on_folder(results[0], results)
    chosen = choose_best_command([*results, with_folder])
    assert chosen
    assert chosen.run.command == command
    assert list_commands_with_files(with_folder, [*results, with_folder]) == []


def test_a_benchmark_that_is_hard_to_compare_gives_way_to_a_program_with_an_input() -> None:
    erratic = TriedCommand(RunProposal("python bench.py"), (41_011, 77_906, 50_000))
    reading = TriedCommand(RunProposal("python -m x a.sql", input_file="a.sql"), (5118, 5118, 5119))
    chosen = choose_best_command([erratic, reading])
    assert chosen is reading
    assert choose_best_command([erratic]) is erratic
    assert choose_best_command([replace(erratic, faults=(41_011, 42_000)), reading]) is not reading
    assert not has_tried_enough({"bench.py": [erratic]}, "x")
    slow = replace(erratic, faults=(96_759, 97_000), seconds=10.0)
    assert choose_best_command([slow, reading]) is reading
    assert choose_best_command([replace(slow, faults=(96_759, 96_759)), reading]) is not reading, (
        "a few executions suffice"
    )


def test_a_program_that_only_starts_with_its_input_gives_way_to_one_that_works() -> None:
    small = TriedCommand(RunProposal("bin/fix a.png", input_file="a.png"), (62, 62, 62), cpu_seconds=0.001)
    works = TriedCommand(RunProposal("bin/decode a.png", input_file="a.png"), (640, 640, 640), cpu_seconds=0.001)
    assert not has_tried_enough({"bin/fix": [small]}, "bin/decode")
    assert choose_best_command([small, works]) is works
    assert has_tried_enough({"bin/decode": [works]}, "bin/other")
    test = TriedCommand(RunProposal("bin/test", is_test=True, may_do_nothing=True), (300, 300, 300), cpu_seconds=0.001)
    assert choose_best_command([test, small]) is small, "what a user would run comes before a test"


def test_a_program_that_does_less_with_a_stand_in_may_work_on_its_folder() -> None:
    bare = TriedCommand(RunProposal("bin/du", may_do_nothing=True), (280, 280))
    with_license = TriedCommand(RunProposal("bin/du LICENSE", stand_in_file="LICENSE"), (189, 190))
    other = TriedCommand(RunProposal("bin/other", may_do_nothing=True), (900, 900))
    assert find_bare_command(with_license, [other, bare, with_license]) is bare
    assert find_bare_command(with_license, [other, replace(bare, faults=(150, 150)), with_license]) is None
    with_input = replace(with_license, run=RunProposal("bin/du a.csv", input_file="a.csv"))
    assert find_bare_command(with_input, [bare]) is None


def test_an_input_that_the_program_refuses_is_no_better_although_it_takes_more_faults() -> None:
    inputs = [run(f"./x t/{name}", faults, 0, input_file=f"t/{name}") for name, faults in (("a", 700), ("b", 900))]
    refusing = replace(inputs[1], reports_error=True)
    assert choose_best_command(inputs) is inputs[1]
    assert choose_best_command([inputs[0], refusing]) is inputs[0]


def test_what_touches_hardly_any_memory_gives_way_to_a_program_that_does() -> None:
    streaming = replace(run("./x a.fq", 170, 9, input_file="a.fq"), cpu_seconds=0.05, memory_faults=50)
    indexing = replace(run("./y a.fq", 900, 5, input_file="a.fq"), cpu_seconds=0.01, memory_faults=800)
    assert choose_best_command([streaming, indexing]) is indexing
    benchmark = replace(run("./bench", 130, 50), cpu_seconds=0.5, memory_faults=40)
    assert choose_best_command([benchmark, indexing]) is indexing
    assert choose_best_command([replace(benchmark, memory_faults=4000, faults=(4100, 4100)), indexing]) is not indexing


def test_a_larger_input_is_made_of_what_is_passed_after_an_expression_too() -> None:
    chosen, other = (
        run(f"./x . t/{name}", 386, 0, input_file=f"t/{name}", is_fallback=True) for name in ("a.q", "b.json")
    )
    plain = run("./x t/c", 400, 0, input_file="t/c")
    assert list_commands_with_files(chosen, [chosen, other, plain]) == [chosen, other]
    assert list_commands_with_files(plain, [chosen, other, plain]) == [plain]
