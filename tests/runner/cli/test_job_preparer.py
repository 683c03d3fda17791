"""Which workload file a job measures."""

from pathlib import Path

import pytest

from runner.cli.job_preparer import _load_workload_inside
from runner.errors import FaultwatchError
from runner.subject.repository import Repository


@pytest.mark.parametrize(
    ("target", "said"), [("link", "has no link"), ("missing", "has no link"), ("../outside", "link points outside")]
)
def test_a_link_that_leads_to_no_workload_is_refused(target: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "link").symlink_to(target)
    with pytest.raises(FaultwatchError, match=said):
        _load_workload_inside(Repository(tmp_path / "clone", "clone"), "link")
