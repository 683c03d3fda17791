"""The shipped schemas agree with the models that read the files."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from runner.errors import FaultwatchError
from runner.schemas import SCHEMA_NAMES, read_schema
from runner.schemas.generate import MODELS, generate_schema
from runner.workload import load_workload
from runner.workload.workload_lookup import SHIPPED_WORKLOADS

WORKLOADS = sorted(SHIPPED_WORKLOADS.glob("*/workload.toml"))
GOOD = '[workload]\nname = "w"\n[build]\ncommand = "make"\n[run]\ncommand = ["./w"]\n'


def validator(name: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(read_schema(name)))


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_the_shipped_schema_is_the_generated_one(name: str) -> None:
    assert read_schema(name) == generate_schema(name, MODELS[name]), "run make schemas"


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_key_is_described(name: str) -> None:
    schema = json.loads(read_schema(name))
    tables = [definition for definition in schema["$defs"].values() if "properties" in definition]
    for table in tables:
        assert [key for key, value in table["properties"].items() if not value.get("description")] == []


@pytest.mark.parametrize("file", WORKLOADS, ids=lambda file: file.parent.name)
def test_every_shipped_workload_is_valid_and_names_the_schema(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    validator("workload").validate(tomllib.loads(text))
    first = text.partition("\n")[0]
    assert first.startswith("#:schema ")
    assert (file.parent / first.removeprefix("#:schema ")).resolve().read_text() == read_schema("workload")


def test_every_example_of_a_matrix_is_valid() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "nightly.md").read_text(encoding="utf-8")
    examples = [block.partition("```")[0] for block in page.split("```toml\n")[1:]]
    whole = [tomllib.loads(text) for text in examples if "[[workloads]]" in text]
    assert whole
    for document in whole:
        validator("matrix").validate(document)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[build]", "[build]\ncomand = 'make'"),
        ('name = "w"', 'name = "../w"'),
        ('name = "w"', 'name = "w"\nsamples = 0'),
        ('"make"', "3"),
        ("[run]", '[run]\noutput = "yaml"'),
    ],
)
def test_what_the_reader_refuses_an_editor_marks(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(GOOD.replace(old, new))
    with pytest.raises(FaultwatchError):
        load_workload(tmp_path)
    assert validator("workload").is_valid(tomllib.loads(GOOD))
    assert not validator("workload").is_valid(tomllib.loads(GOOD.replace(old, new)))
