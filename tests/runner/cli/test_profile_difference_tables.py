"""The causes of a difference, as the terminal shows them."""

import pytest

from runner.cli.profile_difference_tables import show_causes
from runner.contract.diagnosis import AlteredDefinition, Difference, DifferencePart, FaultCause


def make_part(faults: int, place_faults: int = 0) -> DifferencePart:
    before, after = (0, faults) if faults > 0 else (-faults, 0)
    return DifferencePart(
        cause=FaultCause.NEW_MEMORY,
        before=before,
        after=after,
        place="grow at a.c:7",
        place_faults=place_faults,
        sentence="touches memory",
    )


def test_all_parts_of_a_difference_add_up_also_if_only_the_first_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    parts = tuple(make_part(faults) for faults in (900, 80, 70, 60, 50, -400, -30))
    show_causes(Difference(before=500, after=1_230, parts=parts))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "+730 faults (500 → 1,230):"
    assert lines[-1] == "  +20  in 2 other causes", "the largest are shown, also in the other direction"
    assert sum(int(line.split()[0].replace("−", "-")) for line in lines[1:]) == 730


def test_a_place_with_more_faults_than_its_part_is_no_part_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_causes(Difference(before=0, after=3_000, parts=(make_part(2_000, 9_000), make_part(1_000, 600))))
    text = " ".join(capsys.readouterr().out.split())
    assert "(new memory, +9,000 there and −7,000 elsewhere)" in text
    assert "(new memory, +600 of them there)" in text


def test_the_cpu_time_stands_beside_the_faults(capsys: pytest.CaptureFixture[str]) -> None:
    """A mapping that is populated at once has fewer faults, and can cost more."""
    show_causes(Difference(before=1_000, after=0, parts=(make_part(-1_000),)), (0.0031, 0.0372))
    assert "−1,000 faults (1,000 → 0; CPU time 3.1 ms → 37.2 ms):" in capsys.readouterr().out.replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_what_the_change_alters_stands_above_the_causes(capsys: pytest.CaptureFixture[str]) -> None:
    definition = AlteredDefinition(name="grow", place="a.c:3", use="grow at a.c:3", is_own_line=True, is_function=True)
    show_causes(Difference(before=0, after=9, parts=(make_part(9),), altered_definition=definition))
    assert capsys.readouterr().out.splitlines()[1:3] == ["  The change alters grow itself, at a.c:3.", "By cause:"]
    show_causes(Difference(before=0, after=9, parts=(make_part(9),), other_change="Besides, it alters a.conf."))
    assert capsys.readouterr().out.splitlines()[1] == "  Besides, it alters a.conf."
