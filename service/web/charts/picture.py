"""The trend chart as a picture, for what runs no scripts of a page: mails, wikis, preview cards.

It draws the document that the page's chart draws (:mod:`service.web.charts.trend`), with the same marks and colours.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal

from service.web.charts.palette import palette
from service.web.charts.plot import Window
from service.web.charts.trend import AxisPlace, Chart, ConfigLine, Dot, FlaggedDot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Format = Literal["svg", "png"]

SMALLEST, LARGEST = 240, 2000
"""Width and height of a picture, in pixels."""
_DPI = 96
_SHARPNESS = 2
"""Pixels of a PNG for each pixel of the picture: most screens show two."""
_DAY = 86_400_000
_FAR = 700_000
"""The largest number of slots, and of days around 1970, that an axis shows: dates end after some more."""
_PIXELS_A_TICK = 84
_ROOM = 44
"""Pixels above and below the data: a flag and two labels."""
_LETTER = 6.4
"""Width of a letter of a label, in pixels."""
_LABEL_HEIGHT = 16
_LONGEST = 28
_DASHES = ((1, 0), (6, 3), (2, 2), (8, 3))
_SHAPES = "sDPX"
_LOCK = threading.Lock()
"""Matplotlib draws in one thread at a time."""


@dataclass(frozen=True, slots=True)
class View:
    """How a chart is looked at: what its page has in its address, and the size of the picture in pixels."""

    window: Window | None = None
    by_time: bool = False
    logarithmic: bool = False
    dark: bool = False
    width: int = 900
    height: int = 420


def draw(chart: Chart, heading: str, view: View, format_: Format) -> bytes:
    """Draw a chart.

    Parameters
    ----------
    heading
        What the chart shows; of any length and script.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - a fifth of a second, which only pictures need
    from matplotlib.figure import Figure  # noqa: PLC0415

    output = io.BytesIO()
    # Text stays text in an SVG: it can be searched, and the reader's fonts have every script. The font of a PNG lacks
    # Chinese and some others, of which Matplotlib warns.
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "faultwatch", "text.parse_math": False}
    with _LOCK, rc_context(settings), warnings.catch_warnings(action="ignore", category=UserWarning):
        figure = Figure(figsize=(view.width / _DPI, view.height / _DPI), dpi=_DPI, layout="constrained")
        _Drawing(figure, chart, view).draw(heading)
        figure.savefig(
            output,
            format=format_,
            dpi=_DPI * _SHARPNESS if format_ == "png" else _DPI,
            metadata={"Date": None, "Creator": None} if format_ == "svg" else {"Software": None},
        )
    return output.getvalue()


class _Drawing:
    """One chart in one figure."""

    def __init__(self, figure: Figure, chart: Chart, view: View) -> None:
        self._chart, self._view = chart, view
        self._colours = palette(dark=view.dark)
        self._along: Literal["x", "t"] = "t" if view.by_time else "x"
        self._figure = figure
        self._axes: Axes = figure.subplots()

    def draw(self, heading: str) -> None:
        """Draw everything, from back to front."""
        chart, colours, axes = self._chart, self._colours, self._axes
        self._style(axes)
        axes.set_title(
            _shortened(heading, int(self._view.width / 8)),
            loc="left",
            color=colours["text"],
            fontsize=11,
            fontweight="bold",
            pad=30 if chart["lines"] else 8,
        )
        axes.set_ylabel(chart["unit"], color=colours["quiet"])
        axes.set_xlabel(
            "Commit time (UTC)" if self._view.by_time else "Commit, in history order", color=colours["quiet"]
        )
        if self._view.logarithmic and chart["logarithmic"]:
            axes.set_yscale("log")
        self._horizontal_axis()
        self._limits(axes, [*chart["path"], *chart["beside"], *self._overlaid(chart["unit"])])
        self._number_ticks(axes, whole=chart["whole"])
        self._runs(axes, chart["path"], colours["plot"], line=True)
        self._runs(axes, chart["beside"], colours["plot"], line=False)
        self._overlaid_series()
        self._levels()
        self._gaps()
        self._configuration_lines()
        self._flags()

    def _overlaid(self, unit: str) -> list[Dot]:
        return [dot for other in self._chart["others"] if other["unit"] == unit for dot in other["path"]]

    def _style(self, axes: Axes) -> None:
        colours = self._colours
        self._figure.set_facecolor(colours["card"])
        axes.set_facecolor(colours["card"])
        axes.grid(axis="y", color=colours["line"], linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(colors=colours["quiet"], labelsize=8.5, length=0)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(colours["line-strong"])

    def _at(self, places: Iterable[AxisPlace]) -> list[float]:
        return [self._place(place[self._along]) for place in places]

    def _place(self, along: float) -> float:
        return along / _DAY if self._view.by_time else along

    def _horizontal_axis(self) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415 - as above

        axes, chart, window = self._axes, self._chart, self._view.window
        others = [dot for other in chart["others"] for dot in other["path"]]
        everything = self._at([*chart["path"], *chart["beside"], *chart["gaps"], *others])
        if window is not None and window.by_time == self._view.by_time and window.start < window.end:
            first, last = (min(max(self._place(end), -_FAR), _FAR) for end in (window.start, window.end))
            axes.set_xlim(first, last if last > first else first + 1)
        elif self._view.by_time:
            first, last = min(everything, default=0.0), max(everything, default=1.0)
            margin = max((last - first) * 0.03, 60_000 / _DAY)
            axes.set_xlim(first - margin, last + margin)
        else:
            axes.set_xlim(-0.6, max(chart["slots"], 1) - 0.4)
        if self._view.by_time:
            locator = AutoDateLocator(tz=UTC, maxticks=max(3, self._view.width // 110))  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_locator(locator)
            axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
        else:
            self._commit_ticks()

    def _commit_ticks(self) -> None:
        """Label as many commits as there is room for, spread evenly."""
        first, last = self._axes.get_xlim()
        named = sorted(
            {
                entry["x"]: entry["commit"][:7]
                for entry in (*self._chart["beside"], *self._chart["gaps"], *self._chart["path"])
                if first <= entry["x"] <= last
            }.items()
        )
        step = max(1.0, (last - first) / max(1, (self._view.width - 90) // _PIXELS_A_TICK))
        ticks: list[tuple[float, str]] = []
        for slot, commit in named:
            if not ticks or slot - ticks[-1][0] >= step:
                ticks.append((slot, commit))
        self._axes.set_xticks([slot for slot, _ in ticks], [commit for _, commit in ticks], family="monospace")

    def _limits(self, axes: Axes, dots: Sequence[Dot]) -> None:
        """Make the vertical axis as high as what is seen, with room for flags and their labels."""
        first, last = self._axes.get_xlim()
        seen = [dot for dot in dots if first <= self._place(dot[self._along]) <= last] or dots
        if not seen:
            return
        low, high = min(dot["low"] for dot in seen), max(dot["high"] for dot in seen)
        share = _ROOM / max(100, self._view.height - 140)
        if axes.get_yscale() == "log" and low > 1e-100 and high < 1e100:
            factor = max(high / low, 1.0001) ** share
            axes.set_ylim(low / factor, high * factor)
        else:
            axes.set_yscale("linear")
            margin = (high - low) * share or max(abs(high) * 0.05, 1)
            axes.set_ylim(low - margin, high + margin)

    def _number_ticks(self, axes: Axes, *, whole: bool) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator  # noqa: PLC0415 - as above

        low, high = axes.get_ylim()
        steps = axes.get_yscale() != "log" or high / low <= 10
        evenly = MaxNLocator(max(3, self._view.height // 60), integer=whole)
        axes.yaxis.set_major_locator(evenly if steps else LogLocator(subs=(1, 2, 5), numticks=12))
        axes.yaxis.set_minor_locator(NullLocator())
        # No label says that a count could be negative.
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: "" if value < 0 <= min(low, 0) and whole else _plain(value))
        )

    def _runs(self, axes: Axes, dots: Sequence[Dot], colour: str, *, line: bool) -> None:
        places = self._at(dots)
        ranged = [(place, dot) for place, dot in zip(places, dots, strict=True) if dot["low"] != dot["high"]]
        axes.vlines(
            [place for place, _ in ranged],
            [dot["low"] for _, dot in ranged],
            [dot["high"] for _, dot in ranged],
            color=colour,
            linewidth=0.8,
        )
        axes.plot(
            places,
            [dot["y"] for dot in dots],
            color=colour,
            linewidth=0.9 if line else 0,
            marker="o",
            markersize=_point_size(len(self._chart["path"])),
            markerfacecolor=colour if line else self._colours["card"],
        )

    def _overlaid_series(self) -> None:
        second: Axes | None = None
        for number, other in enumerate(self._chart["others"]):
            axes = self._axes
            if other["unit"] != self._chart["unit"]:
                if second is None:
                    second = self._second_axis(other["unit"])
                axes = second
                if other["unit"] != axes.get_ylabel():
                    continue  # A third unit has no axis.
            colour = self._colours[f"over-{number + 1}"]
            axes.plot(
                self._at(other["path"]),
                [dot["y"] for dot in other["path"]],
                color=colour,
                linewidth=1.3,
                dashes=_DASHES[number],
                marker=_SHAPES[number],
                markersize=_point_size(len(other["path"])),
                label=_shortened(other["title"], 60),
            )
        lines = [
            line for axes in self._figure.axes for line in axes.get_lines() if not str(line.get_label()).startswith("_")
        ]
        if lines:
            self._figure.legend(
                handles=lines,
                loc="outside lower left",
                frameon=False,
                fontsize=8.5,
                labelcolor=self._colours["text"],
            )

    def _second_axis(self, unit: str) -> Axes:
        second: Axes = self._axes.twinx()
        self._style(second)
        second.grid(visible=False)
        second.patch.set_visible(False)
        second.set_ylabel(unit, color=self._colours["quiet"])
        self._limits(second, self._overlaid(unit))
        self._number_ticks(second, whole=False)
        return second

    def _levels(self) -> None:
        margin = 0.0 if self._view.by_time else 0.4
        for level in self._chart["levels"]:
            first, last = (self._place(end) for end in level[self._along])
            self._axes.plot(
                [first - margin, last + margin],
                [level["y"]] * 2,
                color=self._colours["level"],
                linewidth=2.4,
                solid_capstyle="round",
            )

    def _gaps(self) -> None:
        places = self._at(self._chart["gaps"])
        self._axes.plot(
            places,
            [0.0] * len(places),
            transform=self._axes.get_xaxis_transform(),
            linewidth=0,
            marker="x",
            markersize=6,
            color=self._colours["text"],
            clip_on=False,
        )

    def _configuration_lines(self) -> None:
        labels = _Labels()
        for line, place in zip(self._chart["lines"], self._at(self._chart["lines"]), strict=True):
            first, last = self._axes.get_xlim()
            if not first <= place <= last:
                continue
            self._axes.axvline(place, color=self._colours["quiet"], linewidth=1, dashes=(5, 4))
            self._configuration_label(line, place, labels)

    def _configuration_label(self, line: ConfigLine, place: float, labels: _Labels) -> None:
        text = _shortened(line["label"], _LONGEST)
        middle = self._pixel(place, self._axes.get_ylim()[1])[0]
        if labels.take(middle, len(text) * _LETTER, 0):
            self._axes.annotate(
                text,
                (place, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=8.5,
                color=self._colours["text"],
                bbox={"boxstyle": "round,pad=0.25", "fc": self._colours["card"], "ec": self._colours["quiet"]},
            )

    def _flags(self) -> None:
        labels = _Labels()
        for flag, place in zip(self._chart["flags"], self._at(self._chart["flags"]), strict=True):
            worse = flag["direction"] == "regression"
            colour = self._colours["worse" if worse else "better"]
            self._axes.plot(
                [place],
                [flag["y"]],
                marker="^" if worse else "v",
                markersize=9,
                markerfacecolor=colour,
                markeredgecolor=self._colours["card"],
                zorder=4,
            )
            self._flag_label(flag, place, labels, {"color": colour, "va": "bottom" if worse else "top"})

    def _flag_label(self, flag: FlaggedDot, place: float, labels: _Labels, style: Mapping[str, Any]) -> None:
        first, last = self._axes.get_xlim()
        across, up = self._pixel(place, flag["y"])
        away = 1 if style["va"] == "bottom" else -1
        if not first <= place <= last:
            return
        for shift in (9, 9 + _LABEL_HEIGHT):
            if labels.take(across, len(flag["label"]) * _LETTER, up + away * shift):
                self._axes.annotate(
                    flag["label"],
                    (place, flag["y"]),
                    xytext=(0, away * shift * 72 / _DPI),
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                    fontweight="bold",
                    zorder=5,
                    bbox={"boxstyle": "square,pad=0.1", "fc": self._colours["card"], "ec": "none", "alpha": 0.85},
                    **style,
                )
                return

    def _pixel(self, across: float, up: float) -> tuple[float, float]:
        x, y = self._axes.transData.transform((across, up))
        return float(x), float(y)


class _Labels:
    """The places that labels have taken, so that none covers another."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float]] = []

    def take(self, middle: float, width: float, height: float) -> bool:
        """Take the place of a label around a middle, in pixels; return False where another one is."""
        left, right = middle - width / 2 - 4, middle + width / 2 + 4
        free = all(
            right <= other_left or other_right <= left or abs(height - other) >= _LABEL_HEIGHT
            for other_left, other_right, other in self._taken
        )
        if free:
            self._taken.append((left, right, height))
        return free


def _plain(value: float) -> str:
    """Write the number of a tick, which is round, without an exponent."""
    return f"{value:,.9f}".rstrip("0").rstrip(".")


def _point_size(count: int) -> float:
    if count <= 120:
        return 4.0
    return 3.0 if count <= 600 else 1.2


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
