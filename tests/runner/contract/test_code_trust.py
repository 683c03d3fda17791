"""Which code has to be confined."""

import pytest

from runner.contract.code_trust import BuildStore, CodeOrigin, choose_build_store, needs_sandbox


@pytest.mark.parametrize("origin", CodeOrigin)
def test_only_own_code_is_free_unless_a_person_says_so(origin: CodeOrigin) -> None:
    assert needs_sandbox(origin) is (origin is not CodeOrigin.OWN)
    assert needs_sandbox(origin, True)
    assert not needs_sandbox(origin, False)


@pytest.mark.parametrize("sandboxed", [True, False])
@pytest.mark.parametrize("origin", CodeOrigin)
def test_what_a_pull_request_builds_is_kept_apart(origin: CodeOrigin, sandboxed: bool) -> None:
    store = choose_build_store(origin, sandboxed=sandboxed)
    assert (store is BuildStore.PULL_REQUEST) is (origin is CodeOrigin.PULL_REQUEST)
    if origin is not CodeOrigin.PULL_REQUEST:
        assert (store is BuildStore.TRUSTED) is not sandboxed


def test_the_stores_have_names_of_one_length() -> None:
    assert len({len(store) for store in BuildStore}) == 1
