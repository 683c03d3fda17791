"""What the page cache alone cannot explain; test_same_bytes tests what becomes of the drift."""

from hypothesis import given
from hypothesis import strategies as st

from service.rules.page_cache_effect import may_be_due_to_page_cache
from service.rules.same_bytes import ProgramBytes


def uncertain(least: int, most: int) -> ProgramBytes:
    return ProgramBytes("a" * 16, "1" * 16, least, most)


@given(st.integers(-100, 100), st.integers(0, 50), st.integers(0, 50))
def test_faults_that_renewing_does_not_move_explain_nothing(change: int, before: int, after: int) -> None:
    assert not may_be_due_to_page_cache(change, uncertain(before, before), uncertain(after, after))
