"""The schemas of the OpenAPI document: one for each type, wherever it appears."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from runner.contract.docstrings import collect_field_docstrings, describe_enum, join_lines
from service.web.api.document.field_descriptions import FIELD_DESCRIPTIONS

REFERENCE = "#/components/schemas/{model}"
_NONE = re.compile(r"\bNone\b")
"""Python's name, in docstrings, for what JSON calls null."""


class _Schemas(GenerateJsonSchema):
    """Uses docstrings as the descriptions of fields, and gives a type the same name in requests and in answers."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.enums: set[type[Enum]] = set()

    def get_defs_ref(self, core_mode_ref: Any) -> Any:
        """Return the reference of a type as in requests, also where it is a part of an answer."""
        # The first element identifies the type; the second is "validation" in requests, "serialization" in answers.
        return super().get_defs_ref((core_mode_ref[0], "validation"))

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        """Return the schema of a model, with its docstring and those of its fields."""
        document = super().model_schema(schema)
        cls: type[BaseModel] = schema["cls"]
        if cls.__doc__:
            document["description"] = join_lines(cls.__doc__)
        texts = collect_field_docstrings(cls)
        for name, field in document.get("properties", {}).items():
            field.pop("title", None)
            text = texts.get(name) or FIELD_DESCRIPTIONS.get(f"{cls.__name__}.{name}") or FIELD_DESCRIPTIONS.get(name)
            if text:
                field.setdefault("description", _NONE.sub("null", text))
        return document

    def enum_schema(self, schema: core_schema.EnumSchema) -> dict[str, Any]:
        """Return the schema of an enum, and remember its class for the description that is added at the end."""
        self.enums.add(schema["cls"])
        return super().enum_schema(schema)


def build_schemas(answers: Iterable[type[BaseModel]], requests: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """Return the schemas of models and of all types that they contain, by name.

    A type that appears in both is described as in requests, where a field with a default may be left out.
    """
    generator = _Schemas(by_alias=True, ref_template=REFERENCE)
    inputs: list[Any] = [(model, "serialization", model.__pydantic_core_schema__) for model in _order_models(answers)]
    inputs += [(model, "validation", model.__pydantic_core_schema__) for model in _order_models(requests)]
    _, definitions = generator.generate_definitions(inputs)
    # Enums are described last, because pydantic replaces descriptions that enum_schema adds.
    class_by_signature = {
        _make_signature(cls.__name__, [member.value for member in cls]): cls for cls in generator.enums
    }
    for definition in definitions.values():
        cls = class_by_signature.get(_make_signature(definition.get("title", ""), definition.get("enum", [])))
        if cls:
            definition["description"] = describe_enum(cls)
    return _name_types(definitions)


def _make_signature(title: str, values: Iterable[Any]) -> tuple[str, ...]:
    return (title, *map(str, values))


def _name_types(definitions: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    """Return the schemas by shorter names, where two modules have types of the same name, such as ``State``.

    pydantic prefixes such a name with the whole path of its module, joined by ``__``. Here, only the last part of the
    path remains: ``JobState``, ``TriageState``.
    """
    text = json.dumps(dict(sorted(definitions.items())))
    for name in definitions:
        *modules, cls = name.split("__")
        if modules:
            new_name = "".join(part.title() for part in modules[-1].split("_")) + cls
            text = text.replace(f'"{name}": {{', f'"{new_name}": {{').replace(
                f'schemas/{name}"', f'schemas/{new_name}"'
            )
    schemas: dict[str, Any] = json.loads(text)
    for name, schema in schemas.items():
        schema["title"] = name
    return schemas


def _order_models(models: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    """Return the models without repetition and in a fixed order, each completely built."""
    unique_models = sorted(set(models), key=lambda model: (model.__module__, model.__qualname__))
    for model in unique_models:
        model.model_rebuild()  # models of the contract are built on first use
    return unique_models
