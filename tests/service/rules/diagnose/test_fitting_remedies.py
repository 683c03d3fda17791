"""Remedies have an effect in the process, and take nothing away from it."""

from __future__ import annotations

import pytest

from runner.contract.diagnosis import DiagnosisRequest, Finding, Remedy
from runner.contract.profile import FaultKind, Frame, Memory, Profile, Touch
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.profiles import FRAMES, anatomy, profile

LIBC = "/usr/lib/libc.so.6"
KERNEL = Frame(function="exc_page_fault", module="[kernel]")
GO = Frame(function="runtime.mallocgc", module="prog")


def find(made: Profile) -> Finding:
    """Return the only finding of a profile."""
    (finding,) = diagnose_profile(DiagnosisRequest(profile=made)).findings
    return finding


def contended(*files: str, frames: tuple[Frame, ...] = FRAMES, **settings: str) -> Profile:
    """Return a profile of threads that wait for the mmap lock, in a process with some files."""
    kinds = (
        *(FaultKind(memory=Memory.FILE_TEXT, touch=Touch.FIRST, file=file, faults=0) for file in files),
        FaultKind(memory=Memory.ANONYMOUS, touch=Touch.FIRST, faults=100),
    )
    made = anatomy({Touch.FIRST: 100}, kinds=kinds)
    return profile(made, waited=1.0, calls={"munmap": 500}, frames=frames, settings=settings)


def forked(**settings: str) -> Profile:
    """Return a profile of a process that copies pages after a fork."""
    kinds = (FaultKind(memory=Memory.ANONYMOUS, touch=Touch.AFTER_FORK, faults=9_900),)
    return profile(anatomy({Touch.AFTER_FORK: 9_900}, kinds=kinds, forks=1), cost=0.5, settings=settings)


def read_first(**settings: str) -> Profile:
    """Return a profile of new memory that is read before it is written."""
    kinds = tuple(FaultKind(memory=Memory.HEAP, touch=touch, faults=5_000) for touch in (Touch.FIRST, Touch.AFTER_READ))
    made = anatomy({Touch.FIRST: 5_000, Touch.AFTER_READ: 5_000}, Memory.HEAP, kinds=kinds)
    return profile(made, cost=0.4, settings=settings)


def returned(*frames: Frame, settings: dict[str, str] | None = None, memory: Memory = Memory.ANONYMOUS) -> Profile:
    """Return a profile of memory that is given back and touched again."""
    kinds = (
        FaultKind(memory=Memory.FILE_TEXT, touch=Touch.FIRST, file=LIBC, faults=0),
        FaultKind(memory=memory, touch=Touch.AFTER_MADVISE, faults=10_000),
    )
    made = anatomy({Touch.AFTER_MADVISE: 10_000}, memory, kinds=kinds)
    return profile(made, cost=0.5, calls={"madvise": 99}, frames=(*FRAMES, KERNEL, *frames), settings=settings)


def list_settings(remedies: tuple[Remedy, ...]) -> dict[str, str]:
    return {name: value for remedy in remedies for name, value in remedy.settings.items()}


@pytest.mark.parametrize(
    ("made", "is_offered"),
    [
        (contended(LIBC), True),
        (contended("prog"), False),
        (contended(LIBC, "/usr/lib/libtcmalloc_minimal.so.4"), False),
        (contended(LIBC, frames=(*FRAMES, KERNEL, GO)), False),
        (contended(LIBC, "/opt/jdk/lib/libjvm.so"), False),
    ],
    ids=("glibc", "static", "tcmalloc already", "Go", "JVM"),
)
def test_another_allocator_is_offered_to_waiting_threads_only_where_it_can_be_loaded(
    made: Profile, is_offered: bool
) -> None:
    finding = find(made)
    assert finding.rule == "mmap-lock"
    assert ({"allocator": "tcmalloc"} in [remedy.settings for remedy in finding.remedies]) is is_offered


@pytest.mark.parametrize(
    ("settings", "is_offered"),
    [
        ({}, True),
        ({"memory.page_size": "4096", "thp.enabled": "madvise"}, True),
        ({"memory.page_size": "4096"}, False),
        ({"memory.page_size": "4096", "thp.enabled": "always"}, False),
        ({"process.huge_pages": "always"}, False),
        ({"memory.page_size": "4096", "thp.enabled": "never", "mthp.2048kB": "always"}, False),
        ({"memory.page_size": "4096", "thp.enabled": "always", "mthp.2048kB": "never"}, True),
    ],
)
def test_huge_pages_are_offered_where_the_kernel_has_them_and_does_not_give_them_yet(
    settings: dict[str, str], is_offered: bool
) -> None:
    remedies = find(read_first(**settings)).remedies
    assert ({"thp": "always"} in [remedy.settings for remedy in remedies]) is is_offered


@pytest.mark.parametrize(("size", "pages"), [("4096", "512"), ("16384", "2,048"), ("65536", "8,192")])
def test_a_huge_page_replaces_as_many_pages_as_a_table_has_entries(size: str, pages: str) -> None:
    settings = {"memory.page_size": size, "thp.enabled": "madvise"}
    assert any(f"two faults for {pages} pages" in remedy.text for remedy in find(read_first(**settings)).remedies)


@pytest.mark.parametrize(
    ("kernel", "is_offered"), [("5.4.0-26-generic", True), ("5.10.0-28-amd64", False), ("6.18.44", False), ("", False)]
)
def test_huge_pages_are_blamed_for_copies_only_where_the_kernel_copies_them_whole(
    kernel: str, is_offered: bool
) -> None:
    remedies = find(forked(**{"kernel.release": kernel})).remedies
    assert ({"thp": "never"} in [remedy.settings for remedy in remedies]) is is_offered


def test_options_that_the_process_has_are_kept() -> None:
    node = Frame(function="f", module="/usr/bin/node")
    present = {"variable.NODE_OPTIONS": "--max-old-space-size=4096"}
    settings = list_settings(find(returned(node, settings=present)).remedies)
    assert settings["env.NODE_OPTIONS"] == "--max-old-space-size=4096 --max-semi-space-size=64"
    jemalloc = Frame(function="je_arena_decay", module="prog")
    settings = list_settings(find(returned(jemalloc, settings={"variable.MALLOC_CONF": "narenas:1"})).remedies)
    assert settings["env.MALLOC_CONF"] == "narenas:1,dirty_decay_ms:30000,muzzy_decay_ms:30000"


def test_what_the_process_has_already_is_no_remedy() -> None:
    variables = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
    arena = Memory.ARENA
    assert list_settings(find(returned(memory=arena)).remedies).keys() >= {f"env.{name}" for name in variables}
    present = dict.fromkeys([f"variable.{variable}" for variable in variables], "4294967296")
    remedies = find(returned(settings=present, memory=arena)).remedies
    assert not any("let the C library" in remedy.text for remedy in remedies)


def test_settings_of_malloc_are_offered_only_where_malloc_gives_memory_back() -> None:
    """The program itself maps and advises memory outside of the heap and the arenas, or blocks as large as these."""
    assert list_settings(find(returned(memory=Memory.HEAP)).remedies) == {"allocator": "tcmalloc"}
    assert list_settings(find(returned(memory=Memory.ANONYMOUS)).remedies) == {}


@pytest.mark.parametrize("present", ["--title=(hidden)", "--require=" + "x" * 2_000])
def test_options_that_are_not_known_completely_are_not_replaced(present: str) -> None:
    node = Frame(function="f", module="/usr/bin/node")
    finding = find(returned(node, settings={"variable.NODE_OPTIONS": present}))
    assert any("young generation" in remedy.text for remedy in finding.remedies)
    assert "env.NODE_OPTIONS" not in list_settings(finding.remedies)
