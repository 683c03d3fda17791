"""Decides whether a report that arrives again is the stored one, even if it was serialised differently."""

from __future__ import annotations

from service.rules.thinned_reports_and_profiles import reduce_report, thin_report
from service.store.runs.stored_reports import unpack_report


def is_same_report(sent_report: bytes, stored_report: bytes, *, thinned: bool = False, reduced: bool = False) -> bool:
    """Return whether two documents contain the same report, even if their JSON differs.

    Parameters
    ----------
    sent_report, stored_report
        Packed reports.
    thinned, reduced
        Whether retention has thinned or reduced the stored report.
    """
    if sent_report == stored_report:
        return True
    report = unpack_report(sent_report)
    if reduced:
        report, _ = reduce_report(report)
    elif thinned:
        report = thin_report(report)
    return report == unpack_report(stored_report)
