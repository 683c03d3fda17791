"""What a job of GitHub Actions may not reach: what belongs to another repository."""

from types import SimpleNamespace

import pytest

from service.web.access import token_limits_and_ownership
from service.web.problems import ProblemError


@pytest.mark.parametrize("repository", [None, "octo-org/secret"])
def test_a_job_of_another_repository_is_refused_without_the_name_of_that_repository(
    repository: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        token_limits_and_ownership, "find_caller", lambda: SimpleNamespace(repository="octo-org/copies")
    )
    token_limits_and_ownership.require_own_job("octo-org/copies")
    with pytest.raises(ProblemError) as refused:
        token_limits_and_ownership.require_own_job(repository)
    assert "a job of octo-org/copies" in str(refused.value)
    assert "secret" not in str(refused.value)
