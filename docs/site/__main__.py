"""``make docs``: builds the site into build/docs/html. Any warning, such as a broken link, is an error."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from docs.site.source import ROOT, write_source

FOLDER = ROOT / "build" / "docs"


def build_html(folder: Path) -> int:
    """Build the site from the pages in ``folder/source`` into ``folder/html``; return Sphinx's exit code."""
    places = ["-c", str(Path(__file__).parent), "-d", str(folder / "doctrees")]
    strict = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    return sphinx([*strict, "-b", "html", *places, str(folder / "source"), str(folder / "html")])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to build; default: build/docs")
    folder = parser.parse_args().folder
    write_source(folder / "source")
    code = build_html(folder)
    if code == 0:
        print(f"the site is in {folder / 'html'}")
    sys.exit(code)
