"""The models that runner and service exchange: orders in one direction, reports in the other.

The models here are the only part of the runner that the service may import. They are versioned, strict
(an unknown field is refused) and the source of the JSON Schema and of the OpenAPI document.
"""

from runner.contract.comparison import Comparison, ComparisonRequest, MetricVerdict, Side, Verdict
from runner.contract.metrics import CATALOGUE, Kind, Metric, metric
from runner.contract.plan import Plan, PlannedRun, PlanRequest, Reason
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
    Report,
    ReportList,
    Revision,
    RevisionList,
    Sample,
    Stage,
    Status,
)
from runner.contract.search import Search, SearchRequest
from runner.contract.suite import to_suite
from runner.contract.trust import Canary, CanaryCount, Mismatch

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
    "metric",
    "to_suite",
]
