from runner.adoption.duration_estimate import describe_slowness


def test_a_slow_program_is_told_what_it_costs_and_what_to_change() -> None:
    said = describe_slowness(11.2)
    assert "An execution takes 11 s, so measuring one commit takes 34 s or more" in said
    assert "a gate takes about 8 min" in said
    assert "`command` in [run]" in said
    assert "a gate takes about 16 min" in describe_slowness(11.2, n_cases=2)


def test_nothing_is_said_of_a_quick_one() -> None:
    assert describe_slowness(1.9) == ""


def test_a_slow_server_gets_fewer_operations() -> None:
    assert describe_slowness(9, is_server=True) == ""
    assert "`command` in [load] perform fewer operations" in describe_slowness(11, is_server=True)
