import re

from hypothesis import given
from hypothesis import strategies as st

from runner.gate_files.escape_for_result_files import escape_result_text
from tests.runner.gate_files.made_answers import HOSTILE


@given(st.text(st.characters(codec=None)) | st.just(HOSTILE))
def test_a_reader_of_xml_markdown_or_sarif_obeys_nothing(text: str) -> None:
    line = escape_result_text(text)
    assert "\n" not in line
    assert re.fullmatch("[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*", line), "only characters of XML 1.0"
    assert not re.search(r"@\w|\]\(|<\w|[\u202a-\u202e\u2066-\u2069]", line)


# A CI command begins with two colons.
@given(st.from_regex(r"\A[A-Za-z0-9 ,.=/+%→–:\[\]_-]*\Z").filter(lambda text: "::" not in text))
def test_ordinary_text_stays(text: str) -> None:
    assert escape_result_text(text) == " ".join(text.split())
