"""What a job may set, and what it may not, with the reason."""

from __future__ import annotations

import pytest

from service.rules.jobs.job_settings import HUGE_PAGES, MEMORY_LIMIT, PRELOAD, explain_objection


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (PRELOAD, "/tmp/own.so"),
        ("variable.PATH", "/tmp"),
        ("variable.PYTHONSTARTUP", "x"),
        ("variable.MALLOC_CONF_FILE", "x"),
        ("build.CFLAGS", "-fplugin=x"),
        ("kernel.release", "6.1"),
        (HUGE_PAGES, "sometimes"),
        (MEMORY_LIMIT, "256M"),
        (MEMORY_LIMIT, "0"),
        (MEMORY_LIMIT, "٢٥٦٠٠٠٠٠"),
        (MEMORY_LIMIT, "9" * 400),
        ("parameter.command", "$(id)"),
        ("parameter.mib", None),
        ("variable.A B", "1"),
    ],
)
def test_what_no_job_may_set_is_refused_in_words(name: str, value: str | None) -> None:
    assert explain_objection(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (MEMORY_LIMIT, "268435456"),
        (MEMORY_LIMIT, "none"),
        (PRELOAD, "libmimalloc.so.2"),
        (PRELOAD, None),
        ("variable.MALLOC_ARENA_MAX", "1"),
        (HUGE_PAGES, "never"),
    ],
)
def test_tunables_may_be_set(name: str, value: str | None) -> None:
    assert explain_objection(name, value) == ""
