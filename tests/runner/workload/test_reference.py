"""The reference page and the reader must not drift apart."""

import re
from pathlib import Path

import pytest

from runner.workload import load_workload
from runner.workload.definition import BuildRecipe, General, Metrics, RunRecipe, Table

PAGE = Path(__file__).parents[3] / "docs" / "workloads.md"
TABLES: dict[str, type[Table]] = {
    "workload": General,
    "build": BuildRecipe,
    "run": RunRecipe,
    "metrics": Metrics,
}


@pytest.mark.parametrize("table", TABLES)
def test_every_key_is_documented_and_every_documented_key_exists(table: str) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"## `[{table}]`")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(TABLES[table].model_fields)


def test_the_example_is_valid(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    (tmp_path / "workload.toml").write_text(example[1], encoding="utf-8")
    assert load_workload(tmp_path).name == "copy_service"
