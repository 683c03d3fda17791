"""A workload with a remedy."""

from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.workload import Workload, list_cases, load_workload
from runner.workload.bound_case import bind_case
from runner.workload.remedy import apply_remedy, parse_settings


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    (tmp_path / "workload.toml").write_text(
        '[workload]\nname = "w"\n[run]\ncommand = "./w --mib {mib} {{mib}}"\nallocator = "{allocator}"\n'
        '[matrix]\nmib = [4, 8]\nallocator = ["glibc", "jemalloc"]\n'
    )
    return load_workload(tmp_path)


def test_allocator_and_huge_pages_are_set_whatever_the_matrix_says(workload: Workload) -> None:
    run = apply_remedy(workload, {"allocator": "tcmalloc", "thp": "always"}).run
    assert (run.allocator, run.huge_pages) == ("tcmalloc", "always")


def test_a_parameter_is_filled_in_wherever_it_stands_but_not_where_braces_are_doubled(workload: Workload) -> None:
    assert apply_remedy(workload, {"mib": "16"}).run.command == ("./w", "--mib", "16", "{{mib}}")


def test_a_parameter_is_filled_in_beside_doubled_braces_too(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(
        '[workload]\nname = "w"\n[run]\ncommand = "./w {{{mib}}} {{{{mib}}}}"\n[matrix]\nmib = [4]\n'
    )
    workload = load_workload(tmp_path)
    command = bind_case(apply_remedy(workload, {"mib": "8"}), list_cases(workload)[0]).command
    assert command == ("./w", "{8}", "{{mib}}")


def test_a_value_with_braces_stays_one(workload: Workload) -> None:
    assert apply_remedy(workload, {"mib": "{allocator}"}).run.command[2] == "{{allocator}}"
    assert apply_remedy(workload, {"env.A": "{x}"}).run.environment == {"A": "{{x}}"}


def test_the_workload_itself_stays_as_it_is(workload: Workload) -> None:
    apply_remedy(workload, {"thp": "always"})
    assert workload.run.huge_pages == "host"


def test_a_remedy_reaches_a_server_and_its_load(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(
        '[workload]\nname = "w"\n[server]\ncommand = "./w {port} {mib}"\n'
        '[load]\ncommand = "./load {port} {mib}"\nfill = "./load {mib}"\n[matrix]\nmib = [4]\n'
    )
    remedied = apply_remedy(load_workload(tmp_path), {"mib": "8", "allocator": "jemalloc"})
    assert remedied.server
    assert remedied.load
    assert remedied.server.command == ("./w", "{port}", "8")
    assert (remedied.load.command, remedied.load.fill) == (("./load", "{port}", "8"), ("./load", "8"))
    assert remedied.run.model_fields_set == {"allocator"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"speed": "11"}, "no such setting"),
        ({"env.": "1"}, "no such setting"),
        ({"allocator": "magic"}, "'magic' is not a known value"),
        ({"thp": "some"}, "'some' is not a known value"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(
    workload: Workload, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(FaultwatchError, match=message) as error:
        apply_remedy(workload, settings)
    assert "known" in (error.value.remedy or "")


def test_settings_have_a_name_and_a_value() -> None:
    assert parse_settings(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    with pytest.raises(FaultwatchError, match="NAME=VALUE"):
        parse_settings(["thp"])
