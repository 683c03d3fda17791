from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import FaultwatchError
from runner.workload import list_cases, load_workload
from runner.workload.placeholders import fill_placeholders

GOOD = """
[workload]
name = "copy"
[build]
command = "make -j2 'a target'"
[run]
command = ["./copy", "--mib", "{mib}"]
[matrix]
mib = [1, 64]
mode = ["fresh", "reused"]
"""


@pytest.fixture
def write(tmp_path: Path):  # type: ignore[no-untyped-def]
    def make(text: str) -> Path:
        file = tmp_path / "workload.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return make


def test_reads_a_file_or_its_folder(write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = write(GOOD)
    workload = load_workload(file)
    assert workload.build.command == ("make", "-j2", "a target")
    assert load_workload(tmp_path).definition == workload.definition


def test_a_case_for_each_point_of_the_matrix(write) -> None:  # type: ignore[no-untyped-def]
    names = [case.name for case in list_cases(load_workload(write(GOOD)))]
    assert names == [
        "copy[mib=1,mode=fresh]",
        "copy[mib=1,mode=reused]",
        "copy[mib=64,mode=fresh]",
        "copy[mib=64,mode=reused]",
    ]


def test_a_matrix_of_which_no_point_is_left_is_refused(write) -> None:  # type: ignore[no-untyped-def]
    workload = load_workload(write(GOOD + "[[exclude]]\nmib = 1\n[[exclude]]\nmib = 64\n"))
    with pytest.raises(FaultwatchError, match=r"\[\[exclude\]\] leaves no point in the matrix"):
        list_cases(workload)


@pytest.mark.parametrize("pattern", ["", "pattern = ''", "pattern = '(?P<rate>[0-9]+)'"])
def test_a_pattern_that_finds_no_work_is_refused(pattern: str, write) -> None:  # type: ignore[no-untyped-def]
    program = GOOD.replace("[run]", f'[run]\noutput = "regex"\n{pattern}')
    server = '[workload]\nname = "w"\n[server]\ncommand = "w {port}"\n[load]\ncommand = "l"\noutput = "regex"\n'
    for table, text in (("run", program), ("load", server + pattern)):
        with pytest.raises(FaultwatchError, match=f'{table}: pattern: output = "regex" needs'):
            load_workload(write(text))


@pytest.mark.parametrize("processes", ["4", "'{mib}'"])
def test_one_result_file_of_several_processes_is_refused(processes: str, write) -> None:  # type: ignore[no-untyped-def]
    run = f'[run]\noutput = "json"\noutput_file = "work.json"\nprocesses = {processes}'
    with pytest.raises(FaultwatchError, match="output_file: several processes would write the same file"):
        load_workload(write(GOOD.replace("[run]", run)))


def test_points_can_be_left_out_and_added(write) -> None:  # type: ignore[no-untyped-def]
    text = GOOD + '[[exclude]]\nmib = 64\nmode = "fresh"\n[[include]]\nmib = 256\nmode = "mapped"\n'
    workload = load_workload(write(text))
    assert [case.name for case in list_cases(workload)] == [
        "copy[mib=1,mode=fresh]",
        "copy[mib=1,mode=reused]",
        "copy[mib=64,mode=reused]",
        "copy[mib=256,mode=mapped]",
    ]
    assert [case.name for case in list_cases(workload, ["mode=mapped"])] == ["copy[mib=256,mode=mapped]"]


def test_choices_keep_some_points(write) -> None:  # type: ignore[no-untyped-def]
    workload = load_workload(write(GOOD))
    assert [case.name for case in list_cases(workload, ["mib=64", "mode=fresh"])] == ["copy[mib=64,mode=fresh]"]
    with pytest.raises(FaultwatchError, match="mib has no value '2'"):
        list_cases(workload, ["mib=2"])
    with pytest.raises(FaultwatchError, match="no parameter 'size'"):
        list_cases(workload, ["size=2"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "copy"', 'name = "copy"\ntimeot = 3', r"\[workload\] timeot: unknown key; did you mean 'timeout'"),
        ("[run]", "[rum]", "rum: unknown key; did you mean 'run'"),
        ('name = "copy"', "", r"\[workload\] name: this key is required"),
        ("{mib}", "{size}", r"uses the parameter 'size', which the matrix does not have \(its parameters: mib, mode\)"),
        ("{mib}", "{mib", "a single '{'"),
        ("[1, 64]", "[]", r"\[matrix\] mib has no values"),
        ("[1, 64]", "[1, 2, 1]", r"\[matrix\] mib: 1 occurs twice"),
        ("[1, 64]", '[1, "1"]', r"\[matrix\] mib: 1 occurs twice"),
        ("make -j2 'a target'", "", r"\[build\] command: the command is empty"),
        ("make -j2 'a target'", "make 'a", r"\[build\] command: No closing quotation"),
        ('["./copy", "--mib", "{mib}"]', '"./copy \'a"', r"\[run\] command: No closing quotation"),
        ('["./copy", "--mib", "{mib}"]', '""', r"\[run\] command: the command is empty"),
        ('name = "copy"', 'name = "copy"\nsamples = 0', r"\[workload\] samples: Input should be greater"),
        ("[matrix]", "[matrix", "not valid TOML"),
        ("[matrix]", f"deep = {'[' * 5000}\n[matrix]", "not valid TOML"),
        ("[matrix]", f"deep{'.a' * 5000} = 1\n[matrix]", "nested more than 100 levels deep"),
        ("[matrix]", f"[deep{'.a' * 5000}]\n[matrix]", "nested more than 100 levels deep"),
        ('"--mib"', '"--mi\\u0000b"', r"\[run\] command: contains a null byte"),
        ("[matrix]", 'environment = {"A\\u0000" = "b"}\n[matrix]', r"'A\\x00': contains a null byte"),
        (
            "[matrix]",
            'environment = {"A=B" = "c"}\n[matrix]',
            (
                r"\[run\] environment: 'A=B' is not a valid variable "
                r"name"
            ),
        ),
        ("[run]", 'environment = {"" = "c"}\n[run]', r"\[build\] environment: '' is not a valid variable name"),
        ("[matrix]", 'huge_pages = "nevr"\n[matrix]', r"\[run\] huge_pages: 'nevr' is not one of host, never, madvise"),
        ("[matrix]", 'page_cache = "warm"\n[matrix]', r"\[run\] page_cache: 'warm' is not one of host, cold"),
        (
            "[matrix]",
            "[[include]]\nmib = 2\n[matrix]",
            r"\[\[include\]\] mib: a point needs a value for each parameter",
        ),
        (
            "[matrix]",
            '[metrics]\nevents = ["instructions:u"]\n[matrix]',
            r"\[metrics\] events: 'instructions:u' cannot be counted, because instructions is",
        ),
        (
            "[matrix]",
            "[[exclude]]\n[matrix]",
            r"\[\[exclude\]\] does not name a parameter, so it would exclude every case",
        ),
        (
            "[matrix]",
            "[[exclude]]\nmib = 2\n[matrix]",
            r"\[\[exclude\]\] mib: the matrix has no value 2 \(its values: 1, 64",
        ),
        ("[matrix]", "[[exclude]]\nmib = false\n[matrix]", r"\[\[exclude\]\] mib: the matrix has no value false"),
        (
            "[matrix]",
            "[[exclude]]\nsize = 2\n[matrix]",
            r"\[\[exclude\]\] size: the matrix has no such parameter \(its parameters: mib, mode",
        ),
        ('name = "copy"', 'name = "../copy"', r"\[workload\] name"),
    ],
)
def test_a_mistake_is_told_with_its_place(old: str, new: str, said: str, write) -> None:  # type: ignore[no-untyped-def]
    file = write(GOOD.replace(old, new))
    with pytest.raises(FaultwatchError, match=said) as caught:
        load_workload(file)
    assert str(file) in caught.value.what


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError, match="no such workload file"):
        load_workload(tmp_path)


def test_the_definition_is_what_can_move_a_number(write) -> None:  # type: ignore[no-untyped-def]
    def definition(text: str) -> str:
        return load_workload(write(text)).definition

    base = definition(GOOD)
    assert definition(GOOD.replace("[1, 64]", "[1, 64, 128]")) == base
    assert (
        definition(GOOD.replace('name = "copy"', 'name = "copy"\ndescription = "x"\nsamples = 9\ncaveat = "y"')) == base
    )
    assert definition(GOOD.replace("[build]", '[build]\nneeds = ["make"]')) == base
    assert definition(GOOD + "[[exclude]]\nmib = 64\n") == base
    assert definition(GOOD.replace("[run]", '[run]\noutput = "none"')) == base, "said or not, a default is a default"
    assert definition(GOOD.replace("make -j2", "make -j4")) != base
    assert definition(GOOD.replace("--mib", "--size")) != base


def test_the_definition_covers_sources_that_the_workload_brings(write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    text = GOOD.replace("[build]", '[build]\ndirectory = "workload"')
    seen = set()
    for name in ("copy.c", "Cargo.toml", "README.md", "data", "deep/module.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        for content in ("one", "two"):
            (tmp_path / name).write_text(content)
            seen.add(load_workload(write(text)).definition)
    (tmp_path / "data").chmod(0o755)
    seen.add(load_workload(write(text)).definition)
    assert len(seen) == 11, "whatever a build or an execution can read"
    assert "workload.toml" not in {one.name for one in load_workload(write(text)).list_own_files()}
    assert load_workload(write(text + "# A remark.\n")).definition in seen


@given(st.text(), st.text())
def test_filling_is_literal(text: str, value: str) -> None:
    quoted = text.replace("{", "{{").replace("}", "}}")
    assert fill_placeholders(quoted + "{x}", {"x": value}) == text + value


def test_budgets_move_no_series_and_are_checked(write) -> None:  # type: ignore[no-untyped-def]
    precision = "[metrics]\nprecision = { throughput = 3 }\n"
    budget = 'budget = { minor-faults = 16, throughput = "2 %", elapsed = "none" }\n'
    workload = load_workload(write(GOOD + precision + budget))
    assert workload.metrics.budget == {"minor-faults": 16, "throughput": "2 %", "elapsed": "none"}
    assert workload.definition == load_workload(write(GOOD)).definition
    with pytest.raises(FaultwatchError, match="elapsed is noisy"):
        load_workload(write(GOOD + '[metrics]\nbudget = { elapsed = "2 %" }\n'))
    with pytest.raises(FaultwatchError, match="a budget is a number in the unit of its metric"):
        load_workload(write(GOOD + '[metrics]\nbudget = { minor-faults = "a little" }\n'))


def test_a_workload_names_the_metrics_to_judge(write) -> None:  # type: ignore[no-untyped-def]
    text = GOOD + '[metrics]\nevents = ["sched:sched_switch"]\njudge = ["throughput", "sched:sched_switch"]\n'
    workload = load_workload(write(text + 'budget = { throughput = "5 %" }\n'))
    assert workload.metrics.judging.judge == ("throughput", "sched:sched_switch")
    assert workload.metrics.judging.budgets == {"throughput": "5 %"}


def test_judging_moves_no_number_and_starts_no_series(write) -> None:  # type: ignore[no-untyped-def]
    plain = load_workload(write(GOOD)).definition
    assert load_workload(write(GOOD + '[metrics]\njudge = ["elapsed"]\n')).definition == plain


@pytest.mark.parametrize(
    ("name", "hint"),
    [("trhoughput", "did you mean 'throughput'"), ("my:event", "list it in `events` too")],
)
def test_a_metric_to_judge_has_to_exist(write, name: str, hint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FaultwatchError, match=hint):
        load_workload(write(GOOD + f'[metrics]\njudge = ["{name}"]\n'))


def test_a_point_that_is_added_twice_is_one_case(write) -> None:  # type: ignore[no-untyped-def]
    point = '[[include]]\nmib = 2\nmode = "fresh"\n'
    names = [case.name for case in list_cases(load_workload(write(GOOD + point + point)))]
    assert len(names) == len(set(names)) == 5
