from service.rules.events.unmoved_hosts import ComparedSeries, choose_unmoved_hosts


def test_a_host_did_not_move_if_none_of_its_series_did() -> None:
    compared = [
        ComparedSeries("calm", 7, "sort", 80, 80, moved=False),
        ComparedSeries("shaken", 8, "sort", 80, 80, moved=False),
        ComparedSeries("calm", 9, "copy", 10, 11, moved=False),
        ComparedSeries("shaken", 10, "copy", 10, 30, moved=True),
    ]
    (calm,) = choose_unmoved_hosts(compared)
    assert (calm.host, calm.n_series, calm.series_id, calm.case) == ("calm", 2, 7, "sort"), (
        "the first one stands for it"
    )
