from __future__ import annotations

from service.rules.drift_map.unmoved_settings import count_unmoved_changes
from service.schemas.history import SettingChange


def kernel(release: str) -> dict[str, str]:
    return {"kernel.release": release, "cpu": "Xeon"}


def test_the_changes_of_settings_that_moved_nothing_are_counted() -> None:
    environments = [kernel("5.4"), kernel("5.10"), kernel("5.15"), kernel("6.1")]
    moved = [[SettingChange(name="kernel.release", before="5.4", after="5.15")]]
    assert count_unmoved_changes([environments], moved) == 2
    assert count_unmoved_changes([environments], []) == 3
    assert count_unmoved_changes([environments[:1]], []) == 0


def test_what_changed_on_two_hosts_alike_counts_once() -> None:
    hosts = [[kernel("5.4"), kernel("5.10")], [kernel("5.4") | {"cpu": "Epyc"}, kernel("5.10") | {"cpu": "Epyc"}]]
    assert count_unmoved_changes(hosts, []) == 1
