"""Which backend starts a job."""

import pytest

from runner.contract.job import Backend
from service.rules.jobs.backend_choice import BackendRefusedError, choose_backend

CAN, CANNOT = "", "no repository is named"


@pytest.mark.parametrize(
    ("objections", "chosen"),
    [
        ({Backend.GITHUB: CAN, Backend.LOCAL: CAN}, Backend.GITHUB),
        ({Backend.GITHUB: CANNOT, Backend.LOCAL: CAN}, Backend.LOCAL),
        ({Backend.LOCAL: CAN}, Backend.LOCAL),
        ({Backend.GITHUB: CANNOT}, Backend.CALLER),
        ({}, Backend.CALLER),
    ],
)
def test_an_order_without_a_backend_takes_the_first_that_can(objections: dict[Backend, str], chosen: Backend) -> None:
    assert choose_backend(None, objections) is chosen


def test_a_named_backend_is_taken_or_refused_with_the_reason() -> None:
    assert choose_backend(Backend.LOCAL, {Backend.GITHUB: CAN, Backend.LOCAL: CAN}) is Backend.LOCAL
    assert choose_backend(Backend.CALLER, {Backend.GITHUB: CAN}) is Backend.CALLER
    with pytest.raises(BackendRefusedError, match=CANNOT):
        choose_backend(Backend.GITHUB, {Backend.GITHUB: CANNOT})
    with pytest.raises(BackendRefusedError, match="does not start jobs through local"):
        choose_backend(Backend.LOCAL, {})
