from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.environment_labels import label_columns

MAKE = "/usr/bin/make, 250000 bytes of {}"
GCC = "gcc (Debian 14.2.0-19) {}"


def texts(*columns: dict[str, str]) -> list[str]:
    return [words.text for words in label_columns(columns)]


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("variable.LD_PRELOAD", (None, "libjemalloc.so.2"), ["no LD_PRELOAD", "LD_PRELOAD=libjemalloc.so.2"]),
        ("compiler.cc", (GCC.format("14.2.0"), GCC.format("15.1.0")), ["cc 14.2.0", "cc 15.1.0"]),
        ("tool.make", (MAKE.format("2025-04-01 10:00:00"), None), ["make of 2025-04-01", "no make"]),
        (
            "tool.make",
            (MAKE.format("2025-04-01 10:00:00"), MAKE.format("2025-04-01 11:30:00")),
            ["make of 2025-04-01 10:00", "make of 2025-04-01 11:30"],
        ),
        (
            "tool.go",
            tuple(f"/opt/go{number}/bin/go, 9 bytes of 2025-04-01 10:00:00" for number in (1, 2)),
            ["go at /opt/go1/bin/go", "go at /opt/go2/bin/go"],
        ),
        (
            "library.libm.so.6",
            ("libm.so.6, sha256 0123456789abcdef", "libm.so.6, sha256 fedcba9876543210"),
            ["libm.so.6 01234567", "libm.so.6 fedcba98"],
        ),
        (
            "compiler.cc",
            tuple(f"{GCC.format('14.2.0')}, configured with --enable-{option}" for option in ("plugin", "lto")),
            ["cc gcc (Debian 14.2.0-…--enable-plugin", "cc gcc (Debian 14.2.0-…--enable-lto"],
        ),
        (
            "variable.LD_PRELOAD",
            ("x", *(f"/opt/allocators/{'long/' * 9}libjemalloc.so.{number}" for number in (1, 2))),
            ["LD_PRELOAD=x", *(f"LD_PRELOAD=/opt/allocators/lon…alloc.so.{number}" for number in (1, 2))],
        ),
        (
            "parameter.text",
            ("y" * 50, "y" * 99, None),
            [f"text {'y' * 19}…{'y' * 9}", f"text {'y' * 19}…{'y' * 19}…", "text not set"],
        ),
        ("kernel.release", ("6.1.0", "6.12.0"), ["kernel.release 6.1.0", "kernel.release 6.12.0"]),
    ],
)
def test_a_head_says_what_differs_in_words(name: str, values: tuple[str | None, ...], said: list[str]) -> None:
    columns = [{"same": "x"} | ({} if value is None else {name: value}) for value in values]
    assert texts(*columns) == said


def test_what_people_chose_comes_first_and_the_rest_is_counted() -> None:
    old = {f"tool.t{number}": MAKE.format("2025-04-01 10:00:00") for number in range(9)}
    new = {name: MAKE.format("2025-05-01 10:00:00") for name in old}
    one, other = label_columns([old, new | {"variable.X": "1"}])
    assert one.text == "no X, t0 of 2025-04-01, 8 more"
    assert other.text == "X=1, t0 of 2025-05-01, 8 more"
    assert len(other.all) == 10


def test_a_single_column_and_equal_ones_say_nothing() -> None:
    assert texts({"tool.make": "x"}) == [""]
    assert texts({"a": "1"}, {"a": "1"}) == ["", ""]
    assert label_columns([]) == []


@given(st.lists(st.dictionaries(st.sampled_from(["tool.a", "variable.b", "c"]), st.text(max_size=99)), max_size=4))
def test_columns_that_differ_in_one_short_setting_are_told_apart(columns: list[dict[str, str]]) -> None:
    for words in label_columns(columns):
        assert "/bin/make, " not in words.text
        assert len(words.text) < 250
