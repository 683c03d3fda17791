"""Characters that nobody sees, in what a page shows."""

import unicodedata

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from service.web.rendering.escape_for_pages import escape_invisible_characters, register


@given(st.text())
def test_what_a_reader_sees_stays(text: str) -> None:
    seen = "".join(
        char
        for char in text
        if char in "\n\t" or (unicodedata.category(char) not in {"Cc", "Cf", "Zl", "Zp"} and char not in "\ufffe\uffff")
    )
    assert escape_invisible_characters(seen) == seen


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\u200b", "\x1b", "\x9b", "\r", "\x7f", "\ufffe", "\U000e0041"])
def test_what_a_reader_does_not_see_is_written_as_its_code_point(char: str) -> None:
    assert escape_invisible_characters(f"a{char}b") == f"a[U+{ord(char):04X}]b"


def test_pages_and_pictures_alone_are_changed() -> None:
    app = Flask(__name__)
    register(app)
    for name, kind in (("html", "text/html"), ("picture", "image/svg+xml"), ("plain", "text/plain")):
        app.add_url_rule(f"/{name}", name, lambda kind=kind: ("é\u202e\n", {"Content-Type": f"{kind}; charset=utf-8"}))
    page = app.test_client().get("/html")
    assert page.text == "é[U+202E]\n"
    assert int(page.headers["Content-Length"]) == len(page.data)
    assert app.test_client().get("/picture").text == "é[U+202E]\n"
    assert app.test_client().get("/plain").text == "é\u202e\n"
