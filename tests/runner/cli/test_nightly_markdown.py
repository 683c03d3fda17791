import re

from hypothesis import given
from hypothesis import strategies as st

from runner.cli.nightly_markdown import escape_markdown


@given(st.text())
def test_strangers_text_holds_no_sign_of_markdown(said: str) -> None:
    shown = escape_markdown(said)
    assert not re.search(r"[<>|`*_\[\]@\\~:/.!\n]", shown)
    read = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), shown)
    assert read == " ".join(said.split())
