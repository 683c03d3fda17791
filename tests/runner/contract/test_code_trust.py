"""Which code has to be confined."""

import pytest

from runner.contract.code_trust import CodeOrigin, needs_sandbox


@pytest.mark.parametrize("origin", CodeOrigin)
def test_only_own_code_is_free_unless_a_person_says_so(origin: CodeOrigin) -> None:
    assert needs_sandbox(origin) is (origin is not CodeOrigin.OWN)
    assert needs_sandbox(origin, True)
    assert not needs_sandbox(origin, False)
