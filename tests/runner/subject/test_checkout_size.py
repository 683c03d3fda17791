"""What is refused by git's own list, and that no more of it is read than that takes."""

from collections.abc import Iterator

import pytest

from runner.subject.checkout_size import MAX_BYTES, MAX_FILES, MAX_LEVELS, read_listing


def entry(path: str, size: str = "1", kind: str = "blob") -> str:
    return f"100644 {kind} {'0' * 40} {size:>7}\t{path}"


def endless(*first: str, then: str) -> Iterator[str]:
    yield from first
    while True:
        yield then


@pytest.mark.parametrize(
    ("entries", "objection", "taken"),
    [
        (endless(then=entry("x")), f"more than {MAX_FILES:,} files and folders", MAX_FILES + 1),
        (endless(then=entry("x", "-", "tree")), f"more than {MAX_FILES:,} files and folders", MAX_FILES + 1),
        (endless(then=entry("x", str(MAX_BYTES // 4))), f"more than {MAX_BYTES >> 30} GiB", 5),
        (endless(entry("x"), then=entry("a/" * (MAX_LEVELS + 1))), f"more than {MAX_LEVELS} levels deep", 2),
    ],
    ids=["files", "folders", "bytes", "levels"],
)
def test_a_list_is_read_no_further_than_its_limit(entries: Iterator[str], objection: str, taken: int) -> None:
    found, why = read_listing(entries)
    assert objection in why
    assert len(found) == taken


def test_an_ordinary_commit_is_not_refused() -> None:
    assert read_listing([entry("a"), entry("b/c", "-")]) == ([entry("a"), entry("b/c", "-")], "")
