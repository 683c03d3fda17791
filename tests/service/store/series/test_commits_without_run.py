from pathlib import Path

import pytest

from runner.contract import Host
from runner.contract.quarantine import Purpose
from service.store.series.commits_without_run import Gaps, find_gaps
from service.web import app_resources
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application

OTHER_CASE = history.CASE.model_copy(update={"parameters": {"mib": 99}})


def find(tmp_path: Path, skipped: set[int], max_searched: int | None = None, **changes: object) -> Gaps:
    """Return the gaps of a case that was not measured at some commits at which another case was."""
    reports = [history.report(number, history.OLD) for number in range(10)]
    with application(tmp_path, lambda client: history.send(client, reports[:0])) as app, app.app_context():
        api = Api(app.test_client())
        api.send(*(run for number, run in enumerate(reports) if number not in skipped))
        others = [history.report(number, history.OLD, again=True) for number in range(12)]
        api.send(*(run.model_copy(update={"case": OTHER_CASE, **changes}) for run in others))
        with app_resources.get_database().reading() as session:
            return find_gaps(session, 1, max_searched)


def test_a_commit_at_which_only_other_cases_were_measured_is_a_gap_also_before_the_first_run(tmp_path: Path) -> None:
    gaps = find(tmp_path, {0, 5})
    assert [commit.revision for commit in gaps.commits] == [history.commit(number) for number in (10, 5, 0)]
    assert [commit.title for commit in gaps.commits][1] == history.TITLES[5]
    assert gaps.are_complete


@pytest.mark.parametrize("changes", [{"host": Host(name="elsewhere")}, {"purpose": Purpose.PROOF}])
def test_what_only_another_host_or_a_proof_measured_is_no_gap(tmp_path: Path, changes: dict[str, object]) -> None:
    assert not find(tmp_path, {5}, **changes).commits


def test_a_limited_search_says_that_it_is_not_complete(tmp_path: Path) -> None:
    gaps = find(tmp_path, {0, 5}, max_searched=2)
    assert [commit.revision for commit in gaps.commits] == [history.commit(10)]
    assert not gaps.are_complete
