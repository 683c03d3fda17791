"""Docstrings name exceptions that exist: a rename must not leave an old name behind."""

import ast
import builtins
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("runner", "service")


def test_every_exception_under_raises_exists() -> None:
    existing, named = set(dir(builtins)), dict[str, set[str]]()
    for file in (file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                existing.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                existing |= {alias.asname or alias.name for alias in node.names}
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                # To clean each docstring would take most of the time.
                is_raising = "Raises\n" in (ast.get_docstring(node, clean=False) or "")
                docstring = ast.get_docstring(node) if is_raising else None
                section = (docstring or "").partition("\nRaises\n------\n")[2]
                for name in re.findall(r"^[A-Z]\w+$", section, re.MULTILINE):
                    named.setdefault(name, set()).add(str(file.relative_to(ROOT)))
    assert named
    assert {name: files for name, files in named.items() if name not in existing} == {}
