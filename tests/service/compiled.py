"""What is compiled once for all applications of a test session: routes, templates and SQL statements.

A service starts once and compiles each of them as it meets them. Tests start it a thousand times, and would compile
for most of their time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import Engine, event
from werkzeug.routing import Rule

from service.store.engine import database

_STATEMENTS = 5_000


@contextmanager
def shared() -> Iterator[None]:
    """Share what is compiled among the applications that are created meanwhile."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        _share_routes(patch)
        _share_templates(patch)
        _share_statements(patch)
        yield


def _share_routes(patch: pytest.MonkeyPatch) -> None:
    builders: dict[object, Any] = {}
    compile_builder = Rule._compile_builder

    def reuse_builder(rule: Rule, append_unknown: bool = True) -> Any:
        key = rule.rule, tuple(rule._trace), repr(rule.defaults), frozenset(rule.arguments), append_unknown
        if key not in builders:
            builders[key] = compile_builder(rule, append_unknown)
        return builders[key]

    parsed: dict[object, tuple[Any, ...]] = {}
    parse_rule = Rule._parse_rule

    def reuse_parts(rule: Rule, text: str) -> list[Any]:
        """Parse the text of a rule, or repeat what that once did to a rule beside the parts that it returned."""
        assert rule.map is not None
        key = text, tuple(rule.map.converters.items())
        if key not in parsed:
            trace, before = len(rule._trace), set(rule._converters)
            parts = list(parse_rule(rule, text))
            # In their order, by which what an address has is handed to them.
            added = {name: converter for name, converter in rule._converters.items() if name not in before}
            parsed[key] = parts, rule._trace[trace:], added
            return parts
        parts, added_trace, added = parsed[key]
        rule._trace.extend(added_trace)
        rule._converters.update(added)
        rule.arguments.update(added)
        return parts

    patch.setattr(Rule, "_compile_builder", reuse_builder)
    patch.setattr(Rule, "_parse_rule", reuse_parts)


class _Templates(BytecodeCache):
    """Jinja asks with a key that has the template's path, and compares the checksum of its text."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key, bucket.checksum] = bucket.code


def _share_templates(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Flask, "jinja_options", {**Flask.jinja_options, "bytecode_cache": _Templates()})


def _share_statements(patch: pytest.MonkeyPatch) -> None:
    """Let engines of one kind of database have one dialect and one cache, whose keys have the dialect."""
    connected: dict[str, Engine] = {}
    create_engine = database.create_engine

    def create(url: Any, **options: Any) -> Engine:
        engine = create_engine(url, query_cache_size=_STATEMENTS, **options)
        name = engine.dialect.name
        if name in connected:
            engine.dialect, engine._compiled_cache = connected[name].dialect, connected[name]._compiled_cache
        else:
            # Its first connection tells the dialect what the server can do.
            event.listen(engine, "connect", lambda *_: connected.setdefault(name, engine), once=True)
        return engine

    patch.setattr(database, "create_engine", create)
