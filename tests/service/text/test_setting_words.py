import pytest

from service.schemas.history import SettingChange
from service.text.setting_words import describe_new_value, describe_setting_changes, weigh_setting_changes


def kernel(before: str, after: str) -> SettingChange:
    return SettingChange(name="kernel.release", before=before, after=after)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("5.4.0-163-generic", "5.15.0-88-generic", "kernel 5.4.0-163 → 5.15.0-88"),
        ("6.1.0-13-amd64", "6.1.0-13-cloud", "kernel 6.1.0-13-amd64 → 6.1.0-13-cloud"),
        ("5.15", "6.1", "kernel 5.15 → 6.1"),
    ],
)
def test_the_flavour_of_a_kernel_is_named_only_if_it_changed(before: str, after: str, text: str) -> None:
    assert describe_setting_changes([kernel(before, after)]) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (kernel("5.4.0-163-generic", "5.15.0-88-generic"), "kernel → 5.15.0-88"),
        (SettingChange(name="variable.A_LONG_VARIABLE_NAME", before="1", after="22"), "→ 22"),
        (SettingChange(name="PRELOAD", before="", after="/usr/loaded/libjemalloc.so.2"), "→ …aded/libjemalloc.so.2"),
        (SettingChange(name="variable.THREADS", before="4", after=None), "THREADS → not set"),
    ],
)  # fmt: skip
def test_a_short_label_keeps_what_is_new(change: SettingChange, text: str) -> None:
    assert describe_new_value([change], 24) == text


def test_a_large_upgrade_weighs_more_than_a_small_one_and_both_more_than_a_variable() -> None:
    large, small = kernel("5.4.0-163-generic", "5.15.0-88-generic"), kernel("5.4.0-105-generic", "5.4.0-131-generic")
    variable = SettingChange(name="variable.THREADS", before="1", after="2")
    weights = [weigh_setting_changes([change]) for change in (large, small, variable)]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == 3
    assert weights[1] > 1 > weights[2]


def test_another_page_size_is_named_before_the_kernel_that_brought_it() -> None:
    settings = [kernel("6.1", "6.12"), SettingChange(name="memory.page_size", before="4096", after="65536")]
    assert describe_setting_changes(settings) == "memory.page_size 4096 → 65536 and 1 more"
