"""A history ends with the drifts of what it measured, and with no others of the project."""

import json
from pathlib import Path

import pytest

from tests.runner.commands import WORKLOAD, faultwatch, make_history

pytestmark = pytest.mark.perf


_CHANGED = (
    "The workload file of pages, or another file in its folder, has changed since the last measurement on this host"
)


def drifts(tmp_path: Path, url: str, *words: str, changed: bool = False) -> list[str]:
    """Measure a history; return the revisions of the drifts that it shows."""
    status, output, messages = faultwatch(tmp_path / "home", "history", *words, "--repo", "repo", "--json", url=url)
    assert status == 0, messages
    assert (_CHANGED in messages) is changed, messages
    return [drift["revision"] for drift in json.loads(output)["drifts"]]


@pytest.mark.thorough
def test_drifts_of_another_definition_and_of_other_commits_are_not_shown(tmp_path: Path, service_url: str) -> None:
    commits = make_history(tmp_path / "repo", [10, 10, 30, 30, 30])
    assert drifts(tmp_path, service_url) == [commits[2]]
    assert drifts(tmp_path, service_url, "HEAD~1..HEAD") == []
    assert drifts(tmp_path, service_url, "HEAD~3..HEAD") == [commits[2]]

    (tmp_path / "repo" / "workload.toml").write_text(WORKLOAD + 'environment = { LANGUAGE = "de" }\n')
    assert drifts(tmp_path, service_url, "HEAD~1..HEAD", changed=True) == [], "a changed workload begins new series"
    assert drifts(tmp_path, service_url) == [commits[2]], "once, although both definitions have this drift"
