from service.rules.series.blame import knob_changes
from service.schemas.history import KnobChange


def test_only_the_knobs_that_differ_are_named() -> None:
    before = {"allocator": "glibc", "thp": "always", "gone": "1"}
    after = {"allocator": "jemalloc", "thp": "always", "new": ""}
    assert knob_changes(before, after) == [
        KnobChange(name="allocator", before="glibc", after="jemalloc"),
        KnobChange(name="gone", before="1", after=None),
        KnobChange(name="new", before=None, after=""),
    ]
