"""The picture of a pull request's comment in the README: a real gate's comment, drawn as a forge draws Markdown."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt
from playwright.sync_api import sync_playwright

from runner.contract.gate import GateReport
from service.forges.comment_links import build_links
from service.forges.comment_text import build_comment
from service.rules.gate.verdict import judge_gate
from tests.docs.project import make_project
from tests.e2e.browser import launched

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "comment.png"
STYLE = """
body { margin: 16px; font: 14px/1.5 "DejaVu Sans", sans-serif; color: #1f2328; background: #fff; width: 1080px; }
.comment { border: 1px solid #d1d9e0; border-radius: 6px; padding: 16px; }
table { border-collapse: collapse; } th, td { border: 1px solid #d1d9e0; padding: 5px 11px; }
tr:nth-child(2n) { background: #f6f8fa; }
code { background: #eff1f3; border-radius: 6px; padding: .2em .4em; font: 12px "DejaVu Sans Mono", monospace; }
pre { background: #f6f8fa; border-radius: 6px; padding: 12px; overflow: hidden; } pre code { padding: 0; }
a { color: #0969da; }
"""


def comment() -> str:
    """Run a gate on a small project, and return the comment that a service writes about it."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-comment-") as name:
        folder = Path(name)
        make_project(folder / "parser")
        report_file = folder / "report.json"
        subprocess.run(
            [sys.executable, "-m", "faultwatch", "gate", "v1.0..main", "--explain", "--report", str(report_file)],
            cwd=folder / "parser",
            env=os.environ | {"FAULTWATCH_HOME": str(folder / "home")},
            check=False,  # the gate fails, as it should
        )
        report = GateReport.model_validate_json(report_file.read_text(encoding="utf-8"))
    return build_comment(judge_gate(report), build_links("", report))


def main() -> None:
    """Draw the comment."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(comment())
    with sync_playwright() as playwright, launched(playwright) as browser:
        page = browser.new_page(color_scheme="light", device_scale_factor=1.5, viewport={"width": 1120, "height": 400})
        page.set_content(f"<!doctype html><style>{STYLE}</style><div class=comment>{body}</div>")
        page.locator(".comment").screenshot(path=PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main()
