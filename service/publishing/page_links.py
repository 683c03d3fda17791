"""Rewrites a page for a site: links lead to files of the site, and elements that need a service are left out."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

from service.publishing.site_addresses import SiteFile

FindFile = Callable[[str], SiteFile | None]

_LINK_ATTRIBUTES = {"a": "href", "area": "href", "link": "href", "img": "src", "script": "src"}
_VOID_ELEMENTS = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_EXTERNAL_PREFIXES = ("http://", "https://", "mailto:")


class PageRewriter(HTMLParser):
    """Rewrites one page; everything else stays the same, character by character.

    Attributes
    ----------
    linked_files
        The files to which the page links, or which it loads.

    Parameters
    ----------
    find_file
        Returns the file of the site for an address of the service; None if the site does not contain it.
    pack_data
        Returns the JSON of a ``script`` element, which a page gives to its charts, in its form for the site.
    """

    def __init__(self, page_file: SiteFile, find_file: FindFile, pack_data: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=False)
        self.linked_files: list[SiteFile] = []
        self._page_file = page_file
        self._find_file = find_file
        self._pack_data = pack_data
        self._is_in_json_script = False
        self._output: list[str] = []
        self._omitted_elements: list[str] = []
        """The open elements that are left out, outermost first."""

    def rewrite_page(self, page: str) -> str:
        """Return the page in its form for the site."""
        self.feed(page)
        self.close()
        return "".join(self._output)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write a start tag, unless its element needs a service."""
        values = dict(attrs)
        if self._omitted_elements or self._needs_service(tag, values):
            if tag not in _VOID_ELEMENTS:
                self._omitted_elements.append(tag)
            return
        self._is_in_json_script = tag == "script" and values.get("type") == "application/json"
        changed_attributes = self._change_attributes(tag, values)
        text = self.get_starttag_text() or ""
        if changed_attributes != values:
            text = _format_tag(tag, changed_attributes, closed=text.endswith("/>"))
        self._output.append(text)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write a self-closing tag, such as those within an SVG picture."""
        if not self._omitted_elements:
            self.handle_starttag(tag, attrs)
            if self._omitted_elements:  # This element is left out, and has no end tag that would end it.
                self._omitted_elements.pop()

    def handle_endtag(self, tag: str) -> None:
        """Write an end tag."""
        if not self._omitted_elements:
            self._output.append(f"</{tag}>")
        elif tag in self._omitted_elements:
            while self._omitted_elements.pop() != tag:  # an unclosed element ends with the element around it
                pass

    def handle_data(self, data: str) -> None:
        """Write text, and pack the data of a chart."""
        self._write(self._pack_data(data) if self._is_in_json_script else data)
        self._is_in_json_script = False

    def handle_entityref(self, name: str) -> None:
        """Write a named character reference, such as ``&amp;``."""
        self._write(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Write a numeric character reference, such as ``&#38;``."""
        self._write(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        """Write the document type declaration."""
        self._write(f"<!{decl}>")

    def _write(self, text: str) -> None:
        if not self._omitted_elements:
            self._output.append(text)

    def _needs_service(self, tag: str, values: dict[str, str | None]) -> bool:
        """Return whether an element is useless without a service."""
        if tag == "form" or "data-pick" in values or "data-decide" in values:
            return True
        is_action = tag == "a" and "button" in (values.get("class") or "").split()
        is_other_format = tag == "link" and values.get("rel") == "alternate"
        return (is_action or is_other_format) and self._leads_nowhere(values.get("href"))

    def _leads_nowhere(self, address: str | None) -> bool:
        """Return whether an address is that of a page of the service that the site does not contain."""
        return (
            address is not None
            and not address.startswith(("#", *_EXTERNAL_PREFIXES))
            and self._find_target(address) is None
        )

    def _change_attributes(self, tag: str, values: dict[str, str | None]) -> dict[str, str | None]:
        """Return the attributes of a tag with addresses of the site, without attributes that send requests."""
        attributes = {name: value for name, value in values.items() if not name.startswith("hx-")}
        name = _LINK_ATTRIBUTES.get(tag, "")
        address = attributes.get(name)
        if address is not None and not address.startswith(("#", *_EXTERNAL_PREFIXES)):
            attributes[name] = self._build_link(address)
            if attributes[name] is None:
                del attributes[name]  # the text is kept, without a link
        if tag == "script" and attributes.get("type") == "module":
            # A browser loads no modules from a disk. A module waits until the page is parsed; a classic script does so
            # only with the attribute `defer`.
            del attributes["type"]
            attributes = {"defer": None, **attributes}
        return attributes

    def _build_link(self, address: str) -> str | None:
        """Return the link to an address of the service, and record its file; None if the site does not contain it."""
        file = self._find_target(address)
        if file is None:
            return None
        self.linked_files.append(file)
        return self._page_file.build_relative_link(file, urldefrag(address).fragment)

    def _find_target(self, address: str) -> SiteFile | None:
        return self._find_file(urljoin(self._page_file.path, urldefrag(address).url))


def _format_tag(tag: str, values: dict[str, str | None], *, closed: bool) -> str:
    parts = [tag, *(name if value is None else f'{name}="{escape(value)}"' for name, value in values.items())]
    return f"<{' '.join(parts)}{'/' if closed else ''}>"
