import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import FaultwatchError
from runner.nightly.cells import (
    apply_configuration,
    build_github_jobs,
    format_case_choices,
    list_host_cells,
    plan_cells,
)
from runner.nightly.matrix_file import Configuration, Matrix, MatrixHost, WorkloadEntry, load_matrix
from runner.workload import Workload, list_cases

ROOT = Path(__file__).parents[3]
NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True), unique=True, max_size=4)


def matrix(text: str, tmp_path: Path) -> Matrix:
    file = tmp_path / "matrix.toml"
    file.write_text(text)
    return load_matrix(file)


def workload(**run: object) -> Workload:
    return Workload.model_validate(
        {
            "workload": {"name": "w"},
            "run": {"command": ["./w", "{mib}"], **run},
            "matrix": {"mib": (4, 8)},
            "include": ({"mib": 64},),
        }
    )


def test_a_server_takes_the_settings_of_a_configuration_but_no_number_of_processes() -> None:
    server = Workload.model_validate(
        {"workload": {"name": "w"}, "server": {"command": "./w {port}"}, "load": {"command": "./load {port}"}}
    )
    configured, _ = apply_configuration(server, "c", Configuration(allocator="jemalloc", threads=2))
    assert configured.run.environment == {"OMP_NUM_THREADS": "{threads}"}
    assert [case.name for case in list_cases(configured)] == ["w[allocator=jemalloc,threads=2]"]
    with pytest.raises(FaultwatchError, match="the configuration c sets `processes`, but w is a server"):
        apply_configuration(server, "c", Configuration(processes=2))


TWO_HOSTS = """
[hosts.old]
[hosts.new]
labels = ["self-hosted", "avx512"]
[configurations.plain]
[configurations.tight]
memory_limit = "64M"
[[workloads]]
path = "a"
[[workloads]]
path = "b"
hosts = ["new"]
configurations = ["plain"]
"""


def test_every_workload_in_every_configuration_on_every_host_that_it_names(tmp_path: Path) -> None:
    found = [cell.place for cell in plan_cells(matrix(TWO_HOSTS, tmp_path), "here")]
    assert found == [
        ("old", "plain", "a"),
        ("old", "tight", "a"),
        ("new", "plain", "a"),
        ("new", "plain", "b"),
        ("new", "tight", "a"),
    ]


def test_one_job_a_host_with_its_labels(tmp_path: Path) -> None:
    assert build_github_jobs(matrix(TWO_HOSTS, tmp_path)) == [
        {"host": "old", "labels": ["self-hosted", "old"]},
        {"host": "new", "labels": ["self-hosted", "avx512"]},
    ]


def test_a_host_carries_out_its_own_cells(tmp_path: Path) -> None:
    assert [
        (cell.configuration, entry.path) for cell, entry in list_host_cells(matrix(TWO_HOSTS, tmp_path), "old")
    ] == [
        ("plain", "a"),
        ("tight", "a"),
    ]
    with pytest.raises(FaultwatchError, match=r"this host, other, is not one of old, new .*FAULTWATCH_HOST"):
        list_host_cells(matrix(TWO_HOSTS, tmp_path), "other")


def test_without_hosts_it_is_for_whoever_reads_it(tmp_path: Path) -> None:
    found = matrix('[[workloads]]\npath = "a"', tmp_path)
    assert [cell.place for cell, _ in list_host_cells(found, "mine")] == [("mine", "plain", "a")]
    with pytest.raises(FaultwatchError, match="does not name any hosts"):
        build_github_jobs(found)


def test_a_host_may_have_any_name(tmp_path: Path) -> None:
    found = matrix('[hosts.here]\n[hosts.other]\n[[workloads]]\npath = "a"', tmp_path)
    assert [cell.place for cell in plan_cells(found, "other")] == [("here", "plain", "a"), ("other", "plain", "a")]


@given(NAMES, NAMES, NAMES.filter(bool))
def test_no_cell_is_lost_and_none_is_there_twice(hosts: list[str], configurations: list[str], paths: list[str]) -> None:
    made = Matrix(
        hosts={name: MatrixHost() for name in hosts},
        configurations={name: Configuration() for name in configurations},
        workloads=tuple(WorkloadEntry(path=path) for path in paths),
    )
    found = [cell.place for cell in plan_cells(made, "mine")]
    assert len(found) == len(set(found)) == max(1, len(hosts)) * max(1, len(configurations)) * len(paths)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[hosts.a]\nlabel = []", "[hosts.a] label: unknown key; did you mean 'labels'?"),
        ('[configurations.x]\nalocator = "jemalloc"', "did you mean 'allocator'?"),
        ('[configurations.x]\nallocator = "jmalloc"', "'jmalloc' is not one of glibc, jemalloc"),
        ('[configurations.x]\nmemory_limit = "much"', "[configurations.x] memory_limit: "),
        ('[configurations.x.environment]\n"A=B" = "1"', "'A=B' is not a valid variable name"),
        ('[[workloads]]\npath = "a"\nhosts = ["b"]', "there is no host 'b'"),
        ("retries = 1", "workloads: this key is required"),
        ("[", "not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_that_says_where(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError) as error:
        matrix(text, tmp_path)
    assert said in error.value.what
    assert "\n" not in error.value.what


def test_a_matrix_that_names_a_workload_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError, match="a is listed twice for plain on here"):
        plan_cells(matrix('[[workloads]]\npath = "a"\n[[workloads]]\npath = "a"', tmp_path), "here")


def test_more_cells_than_a_nightly_run_may_have_are_refused() -> None:
    many = {f"c{number}": Configuration() for number in range(5_001)}
    made = Matrix(configurations=many, workloads=(WorkloadEntry(path="a"), WorkloadEntry(path="b")))
    with pytest.raises(FaultwatchError, match="10,002 cells, but a nightly run may have at most 10,000"):
        plan_cells(made, "here")


def test_a_configuration_replaces_no_parameter_of_a_workload() -> None:
    own = Workload.model_validate(
        {"workload": {"name": "w"}, "run": {"command": "w {configuration}"}, "matrix": {"configuration": ("a", "b")}}
    )
    with pytest.raises(FaultwatchError, match="w already has a parameter of this name"):
        apply_configuration(own, "x", Configuration(environment={"A": "1"}))


def test_nothing_to_set_leaves_the_workload_and_its_series_alone() -> None:
    plain = workload()
    assert apply_configuration(plain, "plain", Configuration()) == (plain, ())


def test_each_configuration_is_a_case_of_its_own() -> None:
    settings = Configuration(allocator="jemalloc", threads=4, memory_limit="64M", environment={"A": "{}"})
    made, chosen = apply_configuration(workload(), "tight", settings)
    assert chosen == ()
    assert [case.name for case in list_cases(made)] == [
        f"w[allocator=jemalloc,configuration=tight,memory_limit=64M,mib={mib},threads=4]" for mib in (4, 8, 64)
    ]
    assert made.run.environment == {"OMP_NUM_THREADS": "{threads}", "A": "{{}}"}
    assert made.definition != workload().definition


def test_a_workloads_own_parameter_is_a_choice_among_its_cases() -> None:
    own = Workload.model_validate(
        {
            "workload": {"name": "w"},
            "run": {"command": "w", "allocator": "{allocator}"},
            "matrix": {"allocator": ("glibc", "jemalloc")},
        }
    )
    made, chosen = apply_configuration(own, "x", Configuration(allocator="jemalloc"))
    assert made is own
    assert [case.name for case in list_cases(made, chosen)] == ["w[allocator=jemalloc]"]
    with pytest.raises(FaultwatchError, match="allocator has no value 'mimalloc'"):
        list_cases(*apply_configuration(own, "x", Configuration(allocator="mimalloc")))


def test_a_choice_of_cases_is_written_as_set_takes_it() -> None:
    entry = WorkloadEntry(path="w", set={"mib": (4, 64), "order": "row"})
    assert format_case_choices(entry) == ("mib=4,64", "order=row")
    assert [
        case.parameters
        for case in list_cases(workload(), format_case_choices(WorkloadEntry(path="w", set={"mib": 64})))
    ] == [{"mib": 64}]


@pytest.mark.parametrize("key", ["hosts", "configurations"])
def test_a_workload_with_an_empty_list_of_hosts_or_configurations_has_no_cell(key: str) -> None:
    entries = [{"path": "used"}, {"path": "unused", key: []}]
    matrix = Matrix.model_validate({"hosts": {"here": {}}, "workloads": entries})
    assert [cell.workload for cell in plan_cells(matrix, "here")] == ["used"]


def test_every_key_is_documented() -> None:
    told = set(re.findall(r"^\| `([a-z_]+)` \|", (ROOT / "docs" / "how-to" / "nightly.md").read_text(), re.MULTILINE))
    models = (Matrix, MatrixHost, Configuration, WorkloadEntry)
    assert told == {name for model in models for name, key in model.model_fields.items() if not key.exclude}
