"""The colours of pictures that are drawn on the server: those of the style sheet, so each colour is defined once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_STYLES = Path(__file__).resolve().parents[1] / "static" / "app.css"
_COLOUR = re.compile(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6});")
_ROOT = re.compile(r":root \{(.*?)\}", re.DOTALL)


@cache
def palette(*, dark: bool) -> Mapping[str, str]:
    """Return the colours of the light or the dark theme by name, as ``#rrggbb``."""
    light, dark_changes = (dict(_COLOUR.findall(block)) for block in _ROOT.findall(_styles())[:2])
    return light | dark_changes if dark else light


def _styles() -> str:
    return _STYLES.read_text(encoding="utf-8")
