"""Chooses the hosts on which the cases of an event did not move, or were not measured."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from service.schemas.history import Number
from service.schemas.triage import UnmovedHost


class ComparedSeries(NamedTuple):
    """A series of a host that was measured on both sides of a drift of an event on another host.

    Attributes
    ----------
    before, after
        The values on both sides.
    moved
        Whether a drift of this series can have the same cause.
    """

    host: str
    series_id: int
    case: str
    before: Number
    after: Number
    moved: bool


def choose_unmoved_hosts(compared_series: Iterable[ComparedSeries]) -> list[UnmovedHost]:
    """Return the hosts none of whose series moved, by name, each with its first series and the number of its series."""
    by_host = attrgetter("host")
    series_by_host = {host: list(series) for host, series in groupby(sorted(compared_series, key=by_host), by_host)}
    return [
        UnmovedHost(
            host=host,
            n_series=len(series),
            series_id=series[0].series_id,
            case=series[0].case,
            before=series[0].before,
            after=series[0].after,
        )
        for host, series in series_by_host.items()
        if not any(compared.moved for compared in series)
    ]


def list_unmeasured_hosts(hosts: Iterable[str], compared_series: Iterable[ComparedSeries]) -> list[str]:
    """Return those hosts that have no series to compare, by name."""
    return sorted(set(hosts) - {compared.host for compared in compared_series})
