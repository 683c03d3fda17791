import pytest

from runner.adoption.program_text import find_program_text


@pytest.mark.parametrize(
    ("usage", "asks"),
    [
        ("usage: ./awk [-F fs][-v var=value][prog | -f progfile][file ...]\n", False),
        ("usage: ./bioawk [-F fs] [-v var=value] [-f progfile | 'prog'] [file ...]\n", True),
        ("Usage: gawk [POSIX or GNU style options] [--] 'program' file ...\n", True),
        ("error: no such program: 'prog'\n", False),
        ("usage: run 'file'\n", False),
        ("", False),
    ],
)
def test_an_awk_gets_a_program_if_its_usage_asks_for_one(usage: str, asks: bool) -> None:
    assert bool(find_program_text(usage)) is asks
