"""What an environment is called, and how it differs from the one before it."""

from datetime import UTC, datetime, timedelta

import pytest

from service.rules.environment_difference import name_environments
from service.rules.environment_name import name_environment
from service.schemas.directory import EnvironmentEntry

USUAL = {
    "kernel.release": "6.1.0-18-amd64",
    "libc.version": "glibc 2.36 (libc.so.6, sha256 6b4a45352fd0)",
    "allocator": "glibc 2.36",
    "thp.enabled": "madvise",
    "process.huge_pages": "host",
    "memory.page_size": "4096",
}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "Linux 6.1.0-18-amd64, glibc 2.36, huge pages madvise"),
        ({"allocator": "jemalloc 5.3"}, "Linux 6.1.0-18-amd64, glibc 2.36, jemalloc 5.3, huge pages madvise"),
        ({"process.huge_pages": "never"}, "Linux 6.1.0-18-amd64, glibc 2.36, huge pages never"),
        ({"memory.page_size": "9" * 400}, "Linux 6.1.0-18-amd64, glibc 2.36, huge pages madvise"),
        (
            {"memory.page_size": "65536"},
            "Linux 6.1.0-18-amd64, glibc 2.36, huge pages madvise, pages of 64\N{NO-BREAK SPACE}KiB",
        ),
    ],
)
def test_an_environment_is_called_by_what_people_know(changes: dict[str, str], name: str) -> None:
    assert name_environment(USUAL | changes) == name


def test_nothing_known_is_no_name() -> None:
    assert name_environment({"import.format": "pyperf", "memory.page_size": "many"}) == ""


def test_an_environment_tells_what_changed_since_the_one_before_on_its_host() -> None:
    def entry(number: int, host: str, kernel: str) -> EnvironmentEntry:
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
        settings = USUAL | {"kernel.release": kernel, "memory.total": str(number)}
        return EnvironmentEntry.model_construct(
            hash=str(number), hosts=[host], settings=settings, first_seen=at, last_seen=at, runs=1
        )

    newest, other, oldest = name_environments([entry(3, "a", "6.12"), entry(2, "b", "5.15"), entry(1, "a", "6.1")])
    assert newest.change == "kernel 6.1 → 6.12 and 1 more"
    assert (other.change, oldest.change) == ("", "")


def test_an_environment_that_comes_back_has_not_changed() -> None:
    """A trial of another kernel is compared with the usual one, and not the usual one with the trial."""

    def entry(kernel: str, first_day: int, last_day: int) -> EnvironmentEntry:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        return EnvironmentEntry.model_construct(
            hash=kernel,
            hosts=["a", "b"],
            settings=USUAL | {"kernel.release": kernel},
            first_seen=start + timedelta(days=first_day),
            last_seen=start + timedelta(days=last_day),
            runs=1,
        )

    entries = [entry("6.17", 6, 9), entry("6.1", 1, 5), entry("6.12", 2, 3), entry("6.6", 4, 4)]
    changes = {named.entry.hash: named.change for named in name_environments(entries)}
    assert changes == {
        "6.1": "",
        "6.12": "kernel 6.1 → 6.12",
        "6.6": "kernel 6.1 → 6.6",
        "6.17": "kernel 6.1 → 6.17",
    }
