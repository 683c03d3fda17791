"""The file of a measurement for pyperf."""

from pathlib import Path

import pytest

from runner.cli.measure import _write_suite
from runner.contract.report import Reading, Sample
from runner.errors import FaultwatchError
from tests.runner.sample_reports import report


def test_a_run_that_pyperf_cannot_represent_is_refused_for_the_true_reason(tmp_path: Path) -> None:
    samples = tuple(Sample(readings={"major-faults": Reading(value=count)}) for count in (0, 3))
    with pytest.raises(FaultwatchError, match="no metric has a value above zero in every sample"):
        _write_suite([report().model_copy(update={"samples": samples})], tmp_path / "suite.json")
