"""The models that runner and service exchange: orders in one direction, reports in the other.

The models here are the only part of the runner that the service may import. They are versioned, strict
(an unknown field is refused) and the source of the JSON Schema and of the OpenAPI document.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.contract.canary import Canary, CanaryCount
    from runner.contract.commit_search import Search, SearchRequest
    from runner.contract.comparison import Comparison, ComparisonRequest, MetricVerdict, Side, Verdict
    from runner.contract.declared_settings import Mismatch
    from runner.contract.metrics import CATALOGUE, Kind, Metric, get_metric
    from runner.contract.plan import Plan, PlannedRun, PlanRequest, Reason
    from runner.contract.pyperf_export import build_suite
    from runner.contract.report import (
        SCHEMA_VERSION,
        Build,
        Case,
        Environment,
        Failure,
        Host,
        Outcome,
        Reading,
        Receipts,
        Ref,
        Report,
        ReportList,
        Revision,
        RevisionList,
        Sample,
        Stage,
        Status,
    )

__all__ = [
    "CATALOGUE",
    "SCHEMA_VERSION",
    "Build",
    "Canary",
    "CanaryCount",
    "Case",
    "Comparison",
    "ComparisonRequest",
    "Environment",
    "Failure",
    "Host",
    "Kind",
    "Metric",
    "MetricVerdict",
    "Mismatch",
    "Outcome",
    "Plan",
    "PlanRequest",
    "PlannedRun",
    "Reading",
    "Reason",
    "Receipts",
    "Ref",
    "Report",
    "ReportList",
    "Revision",
    "RevisionList",
    "Sample",
    "Search",
    "SearchRequest",
    "Side",
    "Stage",
    "Status",
    "Verdict",
    "build_suite",
    "get_metric",
]

_MODULES = {
    "comparison": ("Comparison", "ComparisonRequest", "MetricVerdict", "Side", "Verdict"),
    "metrics": ("CATALOGUE", "Kind", "Metric", "get_metric"),
    "plan": ("Plan", "PlannedRun", "PlanRequest", "Reason"),
    "report": (
        "SCHEMA_VERSION",
        "Build",
        "Case",
        "Environment",
        "Failure",
        "Host",
        "Outcome",
        "Reading",
        "Receipts",
        "Ref",
        "Report",
        "ReportList",
        "Revision",
        "RevisionList",
        "Sample",
        "Stage",
        "Status",
    ),
    "commit_search": ("Search", "SearchRequest"),
    "pyperf_export": ("build_suite",),
    "canary": ("Canary", "CanaryCount"),
    "declared_settings": ("Mismatch",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a model on first use, so that a command that needs only one module of this package starts fast."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value  # Python then finds the name, and does not call this function for it again
    return value
