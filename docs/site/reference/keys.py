"""The keys of every settings file, from their JSON Schemas and models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from docs.site.reference.markdown import code, plain, table
from runner.schemas import read_schema
from service.config.notifications import NotificationSettings


def workload_keys() -> str:
    """Return the tables of ``workload.toml``."""
    return _page(json.loads(read_schema("workload")))


def matrix_keys() -> str:
    """Return the tables of ``matrix.toml``."""
    return _page(json.loads(read_schema("matrix")))


def notification_keys() -> str:
    """Return the tables of ``notifications.toml``."""
    return _page(NotificationSettings.model_json_schema())


def _page(schema: dict[str, Any]) -> str:
    return "\n".join(_tables(schema, schema, ""))


def _tables(schema: dict[str, Any], root: dict[str, Any], name: str) -> Iterator[str]:
    """Return a section for a table of the file, then for those inside it."""
    rows, inner = [], []
    for key, value in schema["properties"].items():
        path = f"{name}.{key}" if name else key
        tables = list(_inner(value, root, path))
        if tables:
            inner += tables
        else:
            rows.append(
                (code(key), _type(value, root), _default(key, value, schema), plain(value.get("description", "")))
            )
    if rows:
        yield f"### {_title(name, schema)}\n\n" + table(("key", "type", "default", "meaning"), rows)
    for path, found in inner:
        yield from _tables(found, root, path)


def _title(name: str, schema: dict[str, Any]) -> str:
    """Return the head of a table as the file has it; of tables with one name, the key that tells them apart."""
    if not name:
        return "Top level"
    kind = schema["properties"].get("kind", {}).get("const")
    inside = re.sub(r"^\[+(\w+)\]+\.", r"\1.", name)
    return code(f"[{inside}]") + (f" with {code(f'kind = {json.dumps(kind)}')}" if kind else "")


def _inner(value: dict[str, Any], root: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the tables that a key stands for, with their names as the file has them."""
    if "$ref" in value:
        target = root["$defs"][value["$ref"].rpartition("/")[2]]
        if "properties" in target:
            yield path, target
    for named in value.get("patternProperties", {}).values():
        yield from _inner(named, root, f"{path}.NAME")
    if isinstance(value.get("items"), dict):
        yield from ((f"[{found}]", target) for found, target in _inner(value["items"], root, path))
    for choice in value.get("anyOf", value.get("oneOf", [])):
        yield from _inner(choice, root, path)


def _type(value: dict[str, Any], root: dict[str, Any]) -> str:
    if "$ref" in value:
        return _type(root["$defs"][value["$ref"].rpartition("/")[2]], root)
    if "enum" in value:
        return ", ".join(code(json.dumps(word)) for word in value["enum"])
    if "const" in value:
        return code(json.dumps(value["const"]))
    choices = value.get("anyOf", value.get("oneOf"))
    if choices:
        return " or ".join(dict.fromkeys(_type(one, root) for one in choices if one.get("type") != "null"))
    if value.get("type") == "array":
        item = value.get("items", {})
        return f"list of {_type(item, root)}" if item else "list"
    words = {"integer": "whole number", "object": "table", "string": "text", "boolean": "`true` or `false`"}
    return words.get(value.get("type", ""), value.get("type", "any value"))


def _default(key: str, value: dict[str, Any], table_schema: dict[str, Any]) -> str:
    if key in table_schema.get("required", ()):
        return "required"
    default = value.get("default")
    return "none" if default in (None, [], {}) else code(json.dumps(default))
