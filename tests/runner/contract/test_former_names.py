"""A field never loses a name: what a version has stored or sent, later ones read.

``field_names.json`` records all names that a field of the contract has had. A new field is added to it, and a field
that gets a better name keeps the former one as an ``AliasChoices``.
"""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import AliasChoices, BaseModel, ValidationError

import runner.contract
from runner.contract.commit_search import SearchRequest
from runner.contract.declared_settings import Mismatch
from runner.contract.report import Receipts

RECORD = Path(__file__).with_name("field_names.json")


def list_models() -> Iterator[type[BaseModel]]:
    """Yield the models of the contract."""
    for module_info in pkgutil.iter_modules(runner.contract.__path__, "runner.contract."):
        module = importlib.import_module(module_info.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__:
                yield value


def list_names(model: type[BaseModel]) -> set[str]:
    """Return all names under which a model reads its fields."""
    names = set(model.model_fields)
    for field in model.model_fields.values():
        if isinstance(field.validation_alias, AliasChoices):
            names |= {choice for choice in field.validation_alias.choices if isinstance(choice, str)}
    return names


def test_every_name_that_a_field_has_had_is_read() -> None:
    recorded = {name: set(fields) for name, fields in json.loads(RECORD.read_text()).items()}
    assert {model.__name__: list_names(model) for model in list_models()} == recorded


@pytest.mark.parametrize(
    ("model", "former"),
    [
        (Mismatch, {"name": "thp", "declared": "never", "held": "always"}),
        (Receipts, {"created": 3, "known": 2, "conflicting": ()}),
    ],
)
def test_a_document_with_a_former_name_is_read_and_written_with_the_present_one(
    model: type[BaseModel], former: dict[str, object]
) -> None:
    written = model.model_validate(former).model_dump(exclude_unset=True)
    assert set(written) <= set(model.model_fields)
    assert list(written.values()) == list(former.values())


def test_a_name_that_no_field_has_had_is_refused() -> None:
    with pytest.raises(ValidationError, match="smallest"):
        SearchRequest.model_validate({"smallest": 1})
