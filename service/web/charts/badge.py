"""Badges: pictures of one fact, for the README of a project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from runner.contract.number_text import format_percent, format_quantity
from service.schemas.history import Direction, SeriesDetail

_LETTER_WIDTH = 6.6
"""Mean width of a letter at a font size of 11 pixels. The SVG stretches its text to the computed width."""
_MARGIN = 12.0
"""Pixels beside each text, both sides together."""
_STYLE_SHEET = Path(__file__).resolve().parents[1] / "static" / "app.css"
_COLOUR_VARIABLE = re.compile(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6});")


class Tone(StrEnum):
    """The colour of a badge's right half, by the colour's name in the style sheet."""

    GOOD = "better"
    BAD = "worse"
    NEUTRAL = "quiet"


@dataclass(frozen=True, slots=True)
class Badge:
    """A badge: its label, and its fact."""

    label: str
    message: str
    tone: Tone

    @property
    def widths(self) -> tuple[float, float]:
        """Widths of the two halves, in pixels."""
        return tuple(round(len(text) * _LETTER_WIDTH + _MARGIN, 1) for text in (self.label, self.message))  # type: ignore[return-value]

    @property
    def colour(self) -> str:
        """Colour of the right half, as ``#rrggbb``."""
        return _read_colours()[self.tone]

    def build_endpoint(self) -> dict[str, object]:
        """Return the badge as a document that shields.io and compatible services draw."""
        return {"schemaVersion": 1, "label": self.label, "message": self.message, "color": self.colour}


def build_series_badge(series: SeriesDetail) -> Badge:
    """Return the badge of a series: its level after the last drift, or its newest value if it has no drift."""
    label = series.title.lower()
    newest_point = next((point for point in reversed(series.points) if point.on_path and point.value is not None), None)
    if newest_point is None or newest_point.value is None:
        return Badge(label, "not measured", Tone.NEUTRAL)
    if not series.drifts:
        return Badge(label, format_quantity(newest_point.value, series.unit), Tone.NEUTRAL)
    # By the place on the path: the dates of commits need not follow the history, and settings can change at one commit.
    place_of_run = {point.run_id: place for place, point in enumerate(series.points) if point.on_path}
    last_drift = max(series.drifts, key=lambda drift: (place_of_run.get(drift.run_after, -1), drift.committed_at))
    change = f" ({format_percent(last_drift.percent)})" if last_drift.percent is not None else ""
    tone = Tone.BAD if last_drift.direction is Direction.REGRESSION else Tone.GOOD
    return Badge(label, format_quantity(last_drift.after, series.unit) + change, tone)


def build_events_badge(n_events: int) -> Badge:
    """Return the badge that says how many events of a subject wait for a decision."""
    if not n_events:
        return Badge("faultwatch", "no open events", Tone.GOOD)
    return Badge("faultwatch", f"{n_events:,} open {'event' if n_events == 1 else 'events'}", Tone.BAD)


@cache
def _read_colours() -> Mapping[str, str]:
    """Return the colours of the light theme as ``#rrggbb``, by name, from the style sheet that defines them."""
    light_theme = _STYLE_SHEET.read_text(encoding="utf-8").partition(":root {")[2].partition("}")[0]
    return dict(_COLOUR_VARIABLE.findall(light_theme))
