"""The reference page and the reader must not drift apart."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from runner.process_state.huge_pages import CHOICES
from runner.work_reports.work_output import READERS, THEORETICAL_COUNTS
from runner.workload import Workload, load_workload
from runner.workload.allocators import ALLOCATOR_VARIABLES
from runner.workload.definition import (
    PAGE_CACHE_STATES,
    SERVER_PLACEHOLDERS,
    BuildRecipe,
    General,
    LoadRecipe,
    Metrics,
    RunRecipe,
    ServerRecipe,
    Table,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "workloads.md"
TABLES: dict[str, type[Table]] = {
    "workload": General,
    "build": BuildRecipe,
    "run": RunRecipe,
    "server": ServerRecipe,
    "load": LoadRecipe,
    "metrics": Metrics,
}


@pytest.mark.parametrize("table", TABLES)
def test_every_key_is_documented_and_every_documented_key_exists(table: str) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"## `[{table}]`")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(TABLES[table].model_fields)


def test_every_table_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = set(re.findall(r"`\[{1,2}(\w+)\]{1,2}`", page))
    assert told == set(Workload.model_fields) - {"path"}


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("allocator", ALLOCATOR_VARIABLES),
        ("page_cache", PAGE_CACHE_STATES),
        ("huge_pages", CHOICES),
        ("json", THEORETICAL_COUNTS),
    ],
)
def test_every_word_that_a_key_takes_is_documented(key: str, words: Iterable[str]) -> None:
    row = re.search(rf'^\| `"?{key}"?` \|.*$', PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert row
    assert [word for word in words if f"`{word}`" not in row[0] and f'`"{word}"`' not in row[0]] == []


def test_every_place_of_a_server_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `\{(\w+)\}` \|", page, re.MULTILINE)) == SERVER_PLACEHOLDERS


@pytest.mark.parametrize("form", [*READERS, "regex", "none"])
def test_every_form_of_output_is_documented(form: str) -> None:
    assert f'`"{form}"`' in PAGE.read_text(encoding="utf-8")


def test_the_example_is_valid(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    (tmp_path / "workload.toml").write_text(example[1], encoding="utf-8")
    assert load_workload(tmp_path).name == "copy_service"
