from service.rules.series.cause import list_setting_changes
from service.schemas.history import SettingChange


def test_only_the_settings_that_differ_are_named() -> None:
    before = {"allocator": "glibc", "thp": "always", "gone": "1"}
    after = {"allocator": "jemalloc", "thp": "always", "new": ""}
    assert list_setting_changes(before, after) == [
        SettingChange(name="allocator", before="glibc", after="jemalloc"),
        SettingChange(name="gone", before="1", after=None),
        SettingChange(name="new", before=None, after=""),
    ]
