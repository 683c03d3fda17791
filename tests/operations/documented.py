"""The commands of the documentation that a test runs: there is one place for them."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import BLOCKS


def scripts(document: str, test: str) -> list[str]:
    """Return the shell blocks of a document that a test runs, in their order. Their comment names the test."""
    found = [block for block in BLOCKS if block.document == Path(document) and block.language == "sh"]
    return [block.text for block in found if Path(test).name in (block.reason or "")]
