"""Mutates real inputs: JSON documents by their structure, texts by lines and tokens, files by bytes."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from tests.runner.perf.mutation import MUTATIONS

TEXTS = (
    "",
    "\0",
    "\ud800",
    "A" * 5000,
    "\x1b]0;title\x07\x1b[2J",
    "::error::injected",
    "a\n::stop-commands::x",
    "<script>alert(1)</script>",
    "{{7*7}}{% raw %}",
    "../../../../etc/passwd",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE run; --",
    "\u202e\u2066\ufeff",
    "%s%n%x",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01T00:00:00+23:59",
    "1e400",
    "٣",
    "9" * 5000,
    "-1",
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.1, -0.0, 1e308, 5e-324),
    *(float("nan"), float("inf"), float("-inf"), [], {}, [[]], {"": None}, {"a": {"b": [1, 2]}}),
    *TEXTS,
)
"""What parsers get wrong: limits of machine numbers, types, and texts with a meaning elsewhere."""
DEEP = 3000
"""Levels of nesting, more than the recursion limit."""


def mutated_json(document: Any, rng: Random) -> bytes:
    """Return a document with one to four changes in its structure, rarely in its bytes too."""
    holder = [copy.deepcopy(document)]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _change(holder, rng)
    text = json.dumps(holder[0], ensure_ascii=rng.random() < 0.9)
    data = text.encode(errors="surrogatepass")
    if rng.random() < 0.01:
        data = data[:-1] + b',"deep":' + b"[" * DEEP + b"]" * DEEP + data[-1:]
    return mutated_bytes(data, rng) if rng.random() < 0.1 else data


def _change(holder: list[Any], rng: Random) -> None:
    """Change one place of the document in its own list."""
    parent: Any = holder
    key: Any = 0
    # Down from the top, so that every level is reached as often, however many leaves lie below it.
    while isinstance(parent[key], dict | list) and parent[key] and rng.random() < 0.8:
        parent = parent[key]
        key = rng.choice(list(parent)) if isinstance(parent, dict) else rng.randrange(len(parent))
    kind = rng.randrange(8)
    value = parent[key]
    if kind <= 2:
        parent[key] = copy.deepcopy(rng.choice(VALUES))
    elif kind == 3 and parent is not holder:
        del parent[key]
    elif kind == 4 and isinstance(parent, list):
        parent.extend(copy.deepcopy(parent[key]) for _ in range(rng.choice((1, 2, 50))))
    elif kind == 5 and isinstance(parent, dict):
        parent[rng.choice((*TEXTS, f"{key}x"))] = parent.pop(key)
    elif kind == 6 and isinstance(value, str) and value:
        parent[key] = mutated_text(value, rng)
    elif kind == 6 and isinstance(value, int | float) and not isinstance(value, bool):
        parent[key] = value * rng.choice((-1, 2, 10, 1 << 40)) + rng.choice((0, 1, -1))
    else:
        parent[key] = rng.choice(([value], {"value": value}, str(value)[:1000]))


def mutated_text(text: str, rng: Random) -> str:
    """Return a text with one change: a character, a span, a line, a field."""
    if not text or rng.random() < 0.1:
        at = rng.randrange(len(text) + 1)
        return text[:at] + rng.choice(TEXTS) + text[at:]
    return rng.choice(list(MUTATIONS.values()))(text, rng)


def mutated_bytes(data: bytes, rng: Random) -> bytes:
    """Return a file with one to eight changes: a byte, a number, a span, the end."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        if not made:
            return bytes(made)
        at = rng.randrange(len(made))
        kind = rng.randrange(6)
        if kind == 0:
            made[at] = rng.randrange(256)
        elif kind == 1:
            made[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            width = rng.choice((1, 2, 4, 8))
            made[at : at + width] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * width
        elif kind == 3:
            del made[at : at + rng.randrange(1, 64)]
        elif kind == 4:
            made[at:at] = made[at : at + rng.randrange(1, 64)]
        else:
            del made[at:]
    return bytes(made)
