"""The page of the ways names files that exist, and draws every table with what it refers to."""

import re
from pathlib import Path

from service.store.models import Base

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "ways.md").read_text()


def test_every_step_has_a_file_that_exists() -> None:
    named = re.findall(r"`((?:runner|service|templates)/[\w/.]*)`", PAGE)
    assert len(named) > 50
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_type_on_the_way_is_defined_once() -> None:
    types = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    sources = [file.read_text() for file in (ROOT / "service").rglob("*.py")]
    assert {
        name: sum(bool(re.search(rf"^class {name}\b", text, re.MULTILINE)) for text in sources) for name in types
    } == dict.fromkeys(types, 1)


def test_every_table_is_listed_with_those_that_it_refers_to() -> None:
    block = PAGE.rpartition("```text\n")[2].partition("```")[0]
    listed = {}
    for line in block.splitlines():
        words, _, references = line.partition("→")
        listed[words.split()[0]] = {name.strip() for name in references.split(",") if name.strip()}
    tables = {
        name: {key.column.table.name for key in table.foreign_keys} for name, table in Base.metadata.tables.items()
    }
    assert listed == tables
