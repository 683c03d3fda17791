"""What a reader sees of a page."""

from __future__ import annotations

from html.parser import HTMLParser

from flask.testing import FlaskClient


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.forbidden: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self._in_script = tag == "script"
        inline = self._in_script and "src" not in given and given.get("type") != "application/json"
        if tag == "style" or inline or any(name == "style" or name.startswith("on") for name in given):
            self.forbidden.append(self.get_starttag_text() or tag)

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if not self._in_script:
            self.words += data.split()


def page(client: FlaskClient, address: str, status: int = 200) -> str:
    """Return the source of a page. No page has a script or a style within it: the policy would refuse them."""
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "text/html"
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert not _reader(answer.text).forbidden
    return answer.text


def read(client: FlaskClient, address: str, status: int = 200) -> str:
    """Return the text of a page as a reader sees it, word by word."""
    return visible(page(client, address, status))


def visible(source: str) -> str:
    """Return the text of a page's source as a reader sees it."""
    return " ".join(_reader(source).words)


def _reader(source: str) -> _Reader:
    reader = _Reader()
    reader.feed(source.replace("<wbr>", ""))
    return reader
