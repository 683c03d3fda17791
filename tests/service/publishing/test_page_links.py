"""Pages are rewritten link by link; all other letters stay as they are."""

from __future__ import annotations

import pytest

from service.publishing.page_links import PageRewriter
from service.publishing.site_addresses import SiteFile

HERE = SiteFile("/events/1", "events/1.html")
FILES = {"/": SiteFile("/", "index.html"), "/static/page.js": SiteFile("/static/page.js", "static/page.js")}


def rewrite(page: str) -> str:
    return PageRewriter(HERE, FILES.get, str.upper).rewrite_page(page)


@pytest.mark.parametrize(
    ("page", "rewritten"),
    [
        ('<a href="/">Home</a>', '<a href="../index.html">Home</a>'),
        ('<a href="/#top">Home</a>', '<a href="../index.html#top">Home</a>'),
        ('<a href="#top">Up</a>', '<a href="#top">Up</a>'),
        ('<a href="https://example.org/">Away</a>', '<a href="https://example.org/">Away</a>'),
        ('<a href="/runs/1">Run</a>', "<a>Run</a>"),
        ('<a class="button" href="/runs/1"><b>Run</b></a>!', "!"),
        ('<script type="module" src="/static/page.js"></script>', '<script defer src="../static/page.js"></script>'),
        ('<script type="application/json">{"a": 1}</script>', '<script type="application/json">{"A": 1}</script>'),
        ("<form><p>a</form>b", "b"),
        ('<main hx-get="/live" id="m">', '<main id="m">'),
        ('<path d="M0 0"/><BR>&lt;&#39;&amp;', '<path d="M0 0"/><BR>&lt;&#39;&amp;'),
        ('<!doctype html>\n<option value="a" selected>', '<!doctype html>\n<option value="a" selected>'),
    ],
)
def test_a_page_is_rewritten(page: str, rewritten: str) -> None:
    assert rewrite(page) == rewritten


def test_a_text_of_strangers_stays_in_its_attribute() -> None:
    page = '<a title="&#34; onclick=&#34;alert(1) &lt;b&gt; href=&#34;/&#34;" href="/">x</a>'
    assert (
        rewrite(page)
        == '<a title="&quot; onclick=&quot;alert(1) &lt;b&gt; href=&quot;/&quot;" href="../index.html">x</a>'
    )


@pytest.mark.parametrize("address", ["javascript:alert(1)", "//example.org/", "data:text/html,x", "\\\\example.org"])
def test_an_address_of_another_kind_leads_nowhere(address: str) -> None:
    assert rewrite(f'<a href="{address}">x</a>') == "<a>x</a>"
