"""Which variables a reported environment can set on a host."""

import pytest

from service.rules.jobs.job_variables import may_be_set, select_settable_variables


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "libjemalloc.so.2"),
        ("LD_PRELOAD", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"),
        ("LD_PRELOAD", "libtcmalloc_minimal.so.4 libmimalloc.so.2"),
        ("MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0"),
        ("MALLOC_ARENA_MAX", "1"),
        ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
        ("OMP_NUM_THREADS", "4"),
        ("LC_ALL", "C"),
    ],
)
def test_tuning_is_reproduced(name: str, value: str) -> None:
    assert may_be_set(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "/tmp/evil.so"),
        ("LD_PRELOAD", "./libjemalloc.so.2"),
        ("LD_PRELOAD", "/usr/lib/../../tmp/libjemalloc.so.2"),
        ("LD_PRELOAD", "libjemalloc.so.2 /tmp/evil.so"),
        ("LD_LIBRARY_PATH", "/tmp"),
        ("LD_AUDIT", "x.so"),
        ("BASH_ENV", "/tmp/x"),
        ("ENV", "x"),
        ("PATH", "."),
        ("PYTHONPATH", "."),
        ("PERL5OPT", "-Mevil"),
        ("GIT_SSH_COMMAND", "sh"),
        ("MALLOC_CONF", "prof:true,prof_prefix:/home/x/.bashrc"),
        ("OMP_TOOL_LIBRARIES", "evil.so"),
        ("GCONV_PATH", "."),
        ("NODE_OPTIONS", "--require ./x"),
        ("TZ", "/etc/shadow"),
    ],
)
def test_nothing_else_is(name: str, value: str) -> None:
    assert not may_be_set(name, value)


def test_what_may_not_be_set_is_left_out() -> None:
    assert select_settable_variables({"MALLOC_ARENA_MAX": "1", "BASH_ENV": "x"}) == {"MALLOC_ARENA_MAX": "1"}
