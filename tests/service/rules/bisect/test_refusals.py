"""Why a search names no commit."""

from __future__ import annotations

from service.rules.bisect.refusals import refuse_variation
from tests.service.rules.bisect.test_count_variation import QUESTION, VARIED, run


def test_the_verdict_says_how_far_the_metric_varies_and_what_helps() -> None:
    said = refuse_variation(QUESTION, [run("c0", *VARIED)], "the ends may be the same").sentence
    assert said.startswith("Not proven: this metric varies by ±6")
    assert "between executions of one commit; the ends may be the same. The usual causes are threads" in said
    steady = refuse_variation(QUESTION, [run("c0", 7, 7)], "the ends may be the same").sentence
    assert steady == "Not proven: the ends may be the same."
