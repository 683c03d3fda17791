"""The keys of every settings file, from their JSON Schemas and models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from docs.site.reference.markdown import format_code, format_plain, format_table
from runner.schemas import read_schema
from service.config.notifications import NotificationSettings


def build_workload_tables() -> str:
    """Return the tables of ``workload.toml``."""
    return _join_tables(json.loads(read_schema("workload")))


def build_matrix_tables() -> str:
    """Return the tables of ``matrix.toml``."""
    return _join_tables(json.loads(read_schema("matrix")))


def build_notification_tables() -> str:
    """Return the tables of ``notifications.toml``."""
    return _join_tables(NotificationSettings.model_json_schema())


def _join_tables(schema: dict[str, Any]) -> str:
    return "\n".join(_list_tables(schema, schema, ""))


def _list_tables(schema: dict[str, Any], root: dict[str, Any], name: str) -> Iterator[str]:
    """Return a section for a table of the file, then for those inside it."""
    rows, inner = [], []
    for key, value in schema["properties"].items():
        path = f"{name}.{key}" if name else key
        tables = list(_list_inner_tables(value, root, path))
        if tables:
            inner += tables
        else:
            rows.append(
                (
                    format_code(key),
                    _describe_type(value, root),
                    _describe_default(key, value, schema),
                    format_plain(value.get("description", "")),
                )
            )
    if rows:
        yield f"### {_format_title(name, schema)}\n\n" + format_table(("key", "type", "default", "meaning"), rows)
    for path, found in inner:
        yield from _list_tables(found, root, path)


def _format_title(name: str, schema: dict[str, Any]) -> str:
    """Return the head of a table as the file has it; of tables with one name, the key that tells them apart."""
    if not name:
        return "Top level"
    kind = schema["properties"].get("kind", {}).get("const")
    inside = re.sub(r"^\[+(\w+)\]+\.", r"\1.", name)
    return format_code(f"[{inside}]") + (f" with {format_code(f'kind = {json.dumps(kind)}')}" if kind else "")


def _list_inner_tables(value: dict[str, Any], root: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the tables that a key stands for, with their names as the file has them."""
    if "$ref" in value:
        target = root["$defs"][value["$ref"].rpartition("/")[2]]
        if "properties" in target:
            yield path, target
    for named in value.get("patternProperties", {}).values():
        yield from _list_inner_tables(named, root, f"{path}.NAME")
    if isinstance(value.get("items"), dict):
        yield from ((f"[{found}]", target) for found, target in _list_inner_tables(value["items"], root, path))
    for choice in value.get("anyOf", value.get("oneOf", [])):
        yield from _list_inner_tables(choice, root, path)


def _describe_type(value: dict[str, Any], root: dict[str, Any]) -> str:
    if "$ref" in value:
        return _describe_type(root["$defs"][value["$ref"].rpartition("/")[2]], root)
    if "enum" in value:
        return ", ".join(format_code(json.dumps(word)) for word in value["enum"])
    if "const" in value:
        return format_code(json.dumps(value["const"]))
    choices = value.get("anyOf", value.get("oneOf"))
    if choices:
        return " or ".join(dict.fromkeys(_describe_type(one, root) for one in choices if one.get("type") != "null"))
    if value.get("type") == "array":
        item = value.get("items", {})
        return f"list of {_describe_type(item, root)}" if item else "list"
    words = {"integer": "whole number", "object": "table", "string": "text", "boolean": "`true` or `false`"}
    return words.get(value.get("type", ""), value.get("type", "any value"))


def _describe_default(key: str, value: dict[str, Any], table_schema: dict[str, Any]) -> str:
    if key in table_schema.get("required", ()):
        return "required"
    default = value.get("default")
    return "none" if default in (None, [], {}) else format_code(json.dumps(default))
