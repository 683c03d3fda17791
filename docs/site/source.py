"""Prepares the pages for Sphinx: copies them, fills in what is generated, and adapts links and navigation.

The files in docs/ stay plain Markdown, which every forge shows. What only the site needs is added here.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from docs.site.reference import GENERATED

ROOT = Path(__file__).parents[2]
FROM_OUTSIDE = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "README.md": "project/readme.md",
    "SECURITY.md": "project/vulnerabilities.md",
}
"""Files outside of docs/ that are pages of the site, with their place in it."""

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^- (?:\*\*)?\[[^\]]+\]\(([^)\s#]+\.md)\)", re.MULTILINE)
_PLACEHOLDER = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)


def write_source(folder: Path) -> None:
    """Write the site's pages into a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = map_places()
    for file, place in pages.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_convert_page((ROOT / file).read_text(encoding="utf-8"), file, pages), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", folder / "images")


def map_places() -> dict[str, str]:
    """Return every file that is a page, relative to the repository, with its place in the site."""
    found = {
        file.relative_to(ROOT).as_posix(): file.relative_to(ROOT / "docs").as_posix()
        for file in sorted((ROOT / "docs").rglob("*.md"))
    }
    readmes = sorted((ROOT / "workloads").glob("*/README.md"))
    return (
        found
        | FROM_OUTSIDE
        | {f"workloads/{file.parent.name}/README.md": _get_place_of_readme(file) for file in readmes}
    )


def _get_place_of_readme(readme: Path) -> str:
    return f"reference/shipped-workloads/{readme.parent.name}.md"


def _convert_page(text: str, file: str, pages: dict[str, str]) -> str:
    text = _PLACEHOLDER.sub(lambda found: GENERATED[found[1]](), text)
    text = "".join(
        part if number % 2 else _LINK.sub(lambda link: _adapt_link(link, file, pages), part)
        for number, part in enumerate(_FENCED.split(text))
    )
    return text + _build_navigation(text) if Path(file).name == "index.md" else text


def _adapt_link(link: re.Match[str], file: str, pages: dict[str, str]) -> str:
    """Adapt a link to a file whose place in the site differs; one to a file outside of the site becomes text."""
    image, words, target = link.groups()
    if re.match(r"[a-z]+:|#", target):
        return link[0]
    path, mark, fragment = target.partition("#")
    wanted = os.path.normpath(Path(file).parent / path)
    if not (ROOT / wanted).exists():
        return link[0]  # Sphinx says that it is broken
    if f"{wanted}/README.md" in pages:
        wanted = f"{wanted}/README.md"
    if wanted in pages:
        here = Path(pages[file]).parent
        return f"{image}[{words}]({os.path.relpath(pages[wanted], here)}{mark}{fragment})"
    if wanted.startswith("docs/images/"):
        here = Path(pages[file]).parent
        return f"{image}[{words}]({os.path.relpath(wanted.removeprefix('docs/'), here)})"
    return words if wanted == "." else f"{words} (`{wanted}`)"


def _build_navigation(text: str) -> str:
    """Make the links of an index page the entries of the navigation, in their order."""
    entries = "\n".join(dict.fromkeys(entry.removesuffix(".md") for entry in _ENTRY.findall(text)))
    return f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
