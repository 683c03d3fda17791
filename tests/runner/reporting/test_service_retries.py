"""Waiting for a service that does not answer."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from runner.errors import ServiceUnavailable
from runner.reporting.service_retries import retry_while_unavailable


@pytest.fixture
def waits() -> list[str]:
    return []


@pytest.fixture
def waiting(waits: list[str]) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def wait() -> Iterator[None]:
        waits.append("begin")
        yield
        waits.append("end")

    return wait


def answer_after(failures: int) -> Callable[[], str]:
    """Return a request that fails some times, and is then answered."""
    left = iter(range(failures))

    def request() -> str:
        if next(left, None) is not None:
            raise ServiceUnavailable("nobody answers", "start the service")
        return "answer"

    return request


def test_others_measure_while_a_command_waits_and_not_while_it_is_answered(
    waits: list[str], waiting: Callable[[], AbstractContextManager[None]]
) -> None:
    assert retry_while_unavailable(answer_after(0), 60, make_wait_context=waiting) == "answer"
    assert waits == []
    said: list[str] = []
    assert retry_while_unavailable(answer_after(3), 60, said.append, waiting) == "answer"
    assert waits == ["begin", "end"]
    assert len(said) == 1
