"""What a person may write for a setting."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.lab.rules import setting_names
from service.rules.jobs.job_settings import MEMORY_LIMIT, PRELOAD


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        (PRELOAD, "jemalloc", "libjemalloc.so.2"),
        (PRELOAD, "glibc", None),
        (MEMORY_LIMIT, "64M", str(64 << 20)),
        (MEMORY_LIMIT, "2 GiB", str(2 << 30)),
        (MEMORY_LIMIT, "none", "none"),
        ("variable.MALLOC_ARENA_MAX", "", None),
        ("variable.GLIBC_TUNABLES", "glibc.malloc.arena_max=1", "glibc.malloc.arena_max=1"),
    ],
)
def test_a_value_is_read_as_the_environment_shows_it(name: str, text: str, value: str | None) -> None:
    assert setting_names.read_value(name, text) == value


@given(st.text(max_size=40))
def test_any_text_is_a_size_or_refused(text: str) -> None:
    with suppress(ValueError):
        value = setting_names.read_value(MEMORY_LIMIT, text)
        assert value == "none" or int(value or "") > 0


def test_a_wrong_size_says_what_to_write() -> None:
    with pytest.raises(ValueError, match="write a size such as 256M, or 'none' for no limit"):
        setting_names.read_value(MEMORY_LIMIT, "much")


def test_a_memory_limit_of_any_length_is_written() -> None:
    """A report may name any limit."""
    assert setting_names.format_value(MEMORY_LIMIT, "9" * 400) == f"{'9' * 400} bytes"
    assert setting_names.format_value(MEMORY_LIMIT, str(64 << 20)) == "64\N{NO-BREAK SPACE}MiB"
    assert setting_names.format_value(MEMORY_LIMIT, "none") == "no limit"
