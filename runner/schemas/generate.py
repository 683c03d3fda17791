"""Generates the schemas from the models that read the files: ``make schemas`` writes them."""

import inspect
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from runner.contract.docstrings import collect_field_docstrings
from runner.nightly.matrix_file import Matrix
from runner.workload import Workload

_REMARKS = {
    "workload": "A Faultwatch workload file: a program, and how to build and run it.",
    "matrix": "A Faultwatch matrix file: the hosts, configurations and workloads of nightly runs.",
}
MODELS: dict[str, type[BaseModel]] = {"workload": Workload, "matrix": Matrix}


def generate_schema(name: str, model: type[BaseModel]) -> str:
    """Return the schema of a model as text. Each key is described by the string below its field."""
    schema = model.model_json_schema(mode="validation")
    schema["properties"].pop("path", None)  # It is not a key of the file.
    _add_descriptions(schema, model)
    for inner_model in _list_models(model):
        if inner_model.__name__ in schema.get("$defs", {}):
            _add_descriptions(schema["$defs"][inner_model.__name__], inner_model)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{name}.toml"}
    document = {**head, **{key: value for key, value in schema.items() if key != "title"}}
    document["description"] = _REMARKS[name]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _list_models(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Return the other models in the module of a model."""
    module = inspect.getmodule(model)
    return [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, BaseModel)]


def _add_descriptions(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Add the docstrings of a model and of its fields to its schema."""
    if model.__doc__:
        schema["description"] = inspect.cleandoc(model.__doc__).partition("\n")[0]
    for name, text in collect_field_docstrings(model).items():
        if name in schema["properties"]:
            schema["properties"][name]["description"] = text


def main() -> None:
    """Write the shipped schemas."""
    for name, model in MODELS.items():
        Path(__file__).with_name(f"{name}.schema.json").write_text(generate_schema(name, model), encoding="utf-8")


if __name__ == "__main__":
    main()
