"""Examples of requests, by the id of the operation. A test validates each example against the model of its body."""

from __future__ import annotations

from typing import Any

_NEW, _OLD = "61c92865b4aea426b1d0715f5d04fe230193a427", "8f43101cce8c15f4f014ed7528e21a36a0d1cb79"

EXAMPLES: dict[str, Any] = {
    "order_job": {
        "question": {
            "kind": "bisect",
            "subject": "parser",
            "case": "parser[records=1000]",
            "metric": "minor-faults",
            "good": "v1.0",
            "bad": "main",
        }
    },
    "decide_event": {"action": "expect", "reason": "The new cache needs these pages."},
    "triage_events": {
        "events": ["3f9c2a7be0d14c55", "81f0c7d92ab34e16"],
        "action": "snooze",
        "until": "2026-12-01T00:00:00Z",
    },
    "silence_series": {
        "subject": "parser",
        "case": "parser[*]",
        "until": "2026-12-01T00:00:00Z",
        "reason": "The input files are being replaced.",
    },
    "store_revisions": {
        "revisions": [
            {"commit": _OLD, "committed_at": "2026-01-05T10:00:00Z", "title": "Parse words"},
            {
                "commit": _NEW,
                "parents": [_OLD],
                "committed_at": "2026-01-06T10:00:00Z",
                "title": "Leave empty words out",
            },
        ]
    },
    "store_run": {
        "run_id": "b0d5c1f2-5a0e-4a53-9a2b-3c7e7f0e6a11",
        "subject": "parser",
        "revision": {"commit": _NEW, "committed_at": "2026-01-06T10:00:00Z", "title": "Leave empty words out"},
        "case": {"workload": "parser", "definition": "0123456789abcdef", "parameters": {"records": 1000}},
        "host": {"name": "lab1"},
        "environment": {"settings": {"kernel.release": "6.12.0-amd64", "memory.page_size": "4096"}},
        "runner_version": "0.1",
        "started_at": "2026-01-06T11:00:00Z",
        "finished_at": "2026-01-06T11:00:02Z",
        "outcome": "measured",
        "samples": [{"readings": {"minor-faults": {"value": 5127}}}, {"readings": {"minor-faults": {"value": 5127}}}],
    },
}
