"""Reads the docstrings of fields and of enum members from the source, because Python does not keep them."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise


@cache
def collect_field_docstrings(cls: type) -> dict[str, str]:
    """Return the docstring of each field or member of a class and its bases, in one line.

    A docstring is the text below the field, or its entry under ``Attributes`` in the docstring of the class.
    """
    docstrings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] in {"builtins", "pydantic", "enum", "abc", "typing"}:
            continue
        docstrings |= dict(_parse_attributes(base.__doc__ or "")) | dict(_parse_fields(base))
    return docstrings


def describe_enum(cls: type[Enum]) -> str:
    """Return the docstring of an enum, with the meaning of each value that has one."""
    meanings = collect_field_docstrings(cls)
    lines = [f"- `{member.value}`: {meanings[member.name]}" for member in cls if member.name in meanings]
    summary = join_lines(cls.__doc__ or "")
    return "\n".join([summary, "", *lines] if lines else [summary]).strip()


def join_lines(text: str) -> str:
    """Return a docstring as Markdown in one line."""
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(text.split())).replace("``", "`")


def _parse_fields(cls: type) -> Iterator[tuple[str, str]]:
    """Yield the fields of a class with the docstrings below them.

    A field is an assignment with an annotation, or without one in an enum; its docstring is the next statement.
    """
    definition = _parse_classes(cls.__module__).get(cls.__name__)
    if definition is None:
        return  # the source is not available, or the class is not at the top level of its module
    for assignment, following in pairwise(definition.body):
        target: ast.expr | None = None
        if isinstance(assignment, ast.AnnAssign):
            target = assignment.target
        elif isinstance(assignment, ast.Assign) and len(assignment.targets) == 1:
            target = assignment.targets[0]
        if not isinstance(target, ast.Name) or not isinstance(following, ast.Expr):
            continue
        if isinstance(following.value, ast.Constant) and isinstance(following.value.value, str):
            yield target.id, join_lines(following.value.value)


@cache
def _parse_classes(module: str) -> dict[str, ast.ClassDef]:
    """Parse the classes at the top level of a module, by name; empty if its source is not available.

    The result is cached by module: ``inspect`` would parse the module again for every class.
    """
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError):  # no source file, a built-in module, or a module that is not loaded
        return {}
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _parse_attributes(docstring: str) -> Iterator[tuple[str, str]]:
    """Parse the section ``Attributes`` of a docstring in numpy's style."""
    _, _, section = inspect.cleandoc(docstring).partition("Attributes\n----------\n")
    for match in re.finditer(r"^(\w[\w, ]*)\n((?: {4}.*\n?|\n)+)", section, re.MULTILINE):
        for name in match[1].split(","):
            yield name.strip(), join_lines(match[2])
