"""The repository that nightly runs measure: the shipped workloads of the field reports, made small, and a matrix."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.runner.commands import ROOT, git

NAME = "field-reports"
MATRIX = Path(__file__).with_name("matrix.toml")
# Shipped, they take an emulated processor minutes. Counts are exact however small they are.
_SMALLER = {
    "matrix_scan": {"--scans 640": "--scans 8"},
    "tensor_copy": {"steps = [500]": "steps = [5]"},
    "fortran_init": {"steps = [20]": "steps = [2]"},
    "image_filter": {"images = [20]": "images = [2]", "[1920]": "[640]", "[1080, 2160]": "[480]"},
    "gallery_search": {'"--mib", "256"': '"--mib", "16"', "320M": "256M"},
}


@dataclass(frozen=True)
class Project:
    """A repository, here and on the hosts."""

    folder: Path

    @classmethod
    def made(cls, parent: Path, only: str = "") -> Project:
        """Make it, with one commit. Its matrix has all hosts, or only some: names with commas between them."""
        folder = parent / NAME
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=main")
        for workload, changes in _SMALLER.items():
            shutil.copytree(
                ROOT / "workloads" / workload,
                folder / workload,
                ignore=lambda place, names: _ignored(Path(place), names),
            )
            file = folder / workload / "workload.toml"
            text = file.read_text(encoding="utf-8")
            for old, new in changes.items():
                assert old in text, f"{file.name} of {workload} has no {old}"
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
        matrix = MATRIX.read_text(encoding="utf-8")
        if only:
            lines = matrix.splitlines(keepends=True)
            matrix = "".join(line for line in lines if not line.startswith("[hosts.") or _host(line) in only.split(","))
        (folder / "matrix.toml").write_text(matrix, encoding="utf-8")
        project = cls(folder)
        project.commit("Measure the field reports")
        return project

    def commit(self, title: str) -> str:
        """Commit a change that no program notices; return the commit."""
        with (self.folder / "NOTES").open("a", encoding="utf-8") as notes:
            notes.write(f"{title}\n")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "--quiet", "--message", title)
        return git(self.folder, "rev-parse", "HEAD")

    def bundle(self) -> bytes:
        """Return all commits as a file that git fetches from."""
        command = ["git", "-C", str(self.folder), "bundle", "create", "--quiet", "-", "main"]
        return subprocess.run(command, check=True, capture_output=True).stdout


def _host(line: str) -> str:
    """Return the host that a line of the matrix begins."""
    return line.strip().removeprefix("[hosts.").removesuffix("]").strip('"')


def _ignored(place: Path, names: list[str]) -> list[str]:
    """Return what git ignores: builds."""
    listing = ["git", "-C", str(ROOT), "check-ignore", *(str(place / name) for name in names)]
    found = subprocess.run(listing, capture_output=True, text=True, check=False).stdout.splitlines()
    return [Path(path).name for path in found]
