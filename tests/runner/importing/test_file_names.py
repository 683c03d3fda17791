from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.importing.file_names import find_revision, find_time


@pytest.mark.parametrize(
    ("name", "revision"),
    [
        ("bench-2c8be77.json", "2c8be77"),
        ("0001_8f43101cce8c15f4f014ed7528e21a36a0d1cb79_20261122.json", "8f43101cce8c15f4f014ed7528e21a36a0d1cb79"),
        ("20250105.json", ""),
        ("1234567.json", ""),
        ("effaced.json", ""),
        ("x2c8be77.json", ""),
        ("2c8be7.json", ""),
    ],
)
def test_revisions(name: str, revision: str) -> None:
    assert find_revision((name,)) == revision


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("2025-01-05.json", datetime(2025, 1, 5, tzinfo=UTC)),
        ("run_20250105_101530.json", datetime(2025, 1, 5, 10, 15, 30, tzinfo=UTC)),
        ("2025-01-05T10:15Z-x.txt", datetime(2025, 1, 5, 10, 15, tzinfo=UTC)),
        ("2025-13-05.json", None),
        ("99999999.json", None),
        ("v1.2.3.json", None),
        ("3fab20210305cdef01.json", None),
        ("20210305ab20210305ab20210305ab20210305ab.json", None),
        ("ab20210305cd_2025-01-05.json", datetime(2025, 1, 5, tzinfo=UTC)),
        ("20250105b.json", datetime(2025, 1, 5, tzinfo=UTC)),
    ],
)
def test_times(name: str, time: datetime | None) -> None:
    assert find_time((name,)) == time


@given(st.text(alphabet="0123456789abcdefTZ-_.: x", max_size=40))
def test_any_name(name: str) -> None:
    found = find_time((name,))
    assert found is None or found.tzinfo is UTC
    assert find_revision((name,)) in name
