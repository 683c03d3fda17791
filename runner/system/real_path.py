"""Resolves the links of a path."""

import os
from pathlib import Path


def resolve_links(path: str | Path) -> Path:
    """Return a path without links. Unlike ``Path.resolve``, this does not raise for a link to itself."""
    return Path(os.path.realpath(path))
