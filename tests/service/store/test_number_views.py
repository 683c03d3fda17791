"""The views of PostgreSQL that show levels and samples as numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from service.store.engine.database import Database
from tests.docs.blocks import BLOCKS
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
LARGE = 2**63 + 1


def ask(database: Database, question: str, **values: Any) -> list[tuple[Any, ...]]:
    with database.reading() as session:
        return [tuple(row) for row in session.execute(text(question), values)]


def test_sql_adds_up_levels_and_samples_exactly(api: Api, database: Database) -> None:
    api.send(
        reports.report(1, LARGE, LARGE + 2, others={"elapsed": 0.1}),
        reports.report(2, LARGE, LARGE, others={"elapsed": 0.3}),
        reports.failed_build(4),
    )
    levels = "SELECT sum(value), count(*) FROM level WHERE metric = :metric AND NOT quarantined"
    assert ask(database, levels, metric="minor-faults") == [(2 * LARGE + 1, 2)]
    assert ask(database, levels, metric="elapsed") == [(Decimal("0.4"), 2)]
    samples = "SELECT sum(value), count(*), max(sample) FROM sample WHERE metric = :metric AND NOT quarantined"
    assert ask(database, samples, metric="minor-faults") == [(4 * LARGE + 2, 4, 1)]
    quantile = "SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY value) FROM sample WHERE metric = 'minor-faults'"
    assert ask(database, quantile) == [(LARGE + 2,)]
    columns = 'SELECT DISTINCT subject, "case", host FROM level'
    assert ask(database, columns) == [("demo", "copy[mib=4]", "box")]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.integers(-(2**64), 2**64), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_is_shown_as_it_is(database: Database, number: float) -> None:
    ((shown,),) = ask(database, "SELECT CAST(:value AS numeric)", value=repr(number))
    assert shown == number if isinstance(number, int) else math.isclose(shown, number, rel_tol=0, abs_tol=0)


def test_the_documented_questions_are_answered(api: Api, database: Database) -> None:
    examples = [block.text for block in BLOCKS if block.language == "sql" and ".parquet" not in block.text]
    assert len(examples) == 2
    for number, faults in ((1, 100), (2, 200)):
        api.send(reports.report(number, faults, faults, others={"elapsed": number / 2}))
    of_levels, of_samples = (ask(database, example) for example in examples)
    assert of_levels == [("copy[mib=4]", 2, 300, 200)]
    ((host, _, n, mean, spread),) = of_samples
    assert (host, n, mean) == ("box", 4, Decimal("0.75"))
    assert math.isclose(spread, 0.2887, abs_tol=1e-4)
