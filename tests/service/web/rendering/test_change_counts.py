"""One sentence and a bar about many changes."""

import pytest

from service.web.rendering.change_counts import ChangeCounts


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (ChangeCounts(34, 12, 54), "34 of 100 cases are worse, 12 better, 54 the same."),
        (ChangeCounts(1, 0, 0), "1 of 1 case is worse, 0 better, 0 the same."),
        (ChangeCounts(0, 1, 0), "0 of 1 case is worse, 1 better, 0 the same."),
        (ChangeCounts(0, 0, 3), "Nothing changed in 3 cases."),
        (ChangeCounts(0, 0, 0), "Nothing was compared."),
        (ChangeCounts(0, 0, 1, 1, noun="series"), "0 of 2 series are worse, 0 better, 1 the same, 1 undecided."),
        (ChangeCounts(0, 0, 1, without_drift=2), "0 of 3 cases are worse, 0 better, 1 the same, 2 without a drift."),
    ],
)
def test_the_counts_are_one_sentence(counts: ChangeCounts, sentence: str) -> None:
    assert counts.sentence == sentence


def test_the_bar_is_full_and_has_no_empty_part() -> None:
    segments = ChangeCounts(34, 0, 54, 12).segments
    assert [(segment.kind, segment.start, segment.width) for segment in segments] == [
        ("worse", 0, 34),
        ("undecided", 34, 12),
        ("same", 46, 54),
    ]
    assert segments[-1].text == "54 the same"
