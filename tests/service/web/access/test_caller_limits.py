"""What a job of GitHub Actions may not reach: what belongs to another repository."""

from types import SimpleNamespace

import pytest

from service.web.access import caller_limits
from service.web.problems import ProblemError


@pytest.mark.parametrize("repository", [None, "octo-org/secret"])
def test_a_job_of_another_repository_is_refused_without_the_name_of_that_repository(
    repository: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller_limits, "find_caller", lambda: SimpleNamespace(repository="octo-org/copies"))
    caller_limits.require_own_job("octo-org/copies")
    with pytest.raises(ProblemError) as refused:
        caller_limits.require_own_job(repository)
    assert "a job of octo-org/copies" in str(refused.value)
    assert "secret" not in str(refused.value)
