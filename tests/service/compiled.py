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
    compiled: dict[object, Any] = {}
    compile_builder = Rule._compile_builder

    def reuse(rule: Rule, append_unknown: bool = True) -> Any:
        key = rule.rule, tuple(rule._trace), repr(rule.defaults), frozenset(rule.arguments), append_unknown
        if key not in compiled:
            compiled[key] = compile_builder(rule, append_unknown)
        return compiled[key]

    patch.setattr(Rule, "_compile_builder", reuse)


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
