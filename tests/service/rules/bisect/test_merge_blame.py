from service.rules.bisect.merge_blame import blame_merge


def test_a_merge_is_blamed_alone_if_measurements_clear_its_branches() -> None:
    assert blame_merge(0b1111, 0b1000, 0b0111, failed_ancestors=0, may_be_innocent=False) == 0b1000


def test_the_branches_of_a_merge_are_named_with_it_if_it_may_have_changed_nothing_itself() -> None:
    assert blame_merge(0b1111, 0b1000, 0b0111, failed_ancestors=0, may_be_innocent=True) == 0b1111


def test_only_measured_branches_clear_commits_if_a_parent_could_not_be_measured() -> None:
    assert blame_merge(0b1111, 0b1000, 0b0001, failed_ancestors=0b0100, may_be_innocent=False) == 0b1110
