"""A repository with the demo's history, which has taken Faultwatch in."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.workflows.act import ROOT


class Subject:
    """A repository of the demo's commits.

    Attributes
    ----------
    commits
        Those of the demo, the oldest first.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "copy-service"
        script = ROOT / "workloads" / "copy_service" / "make_history.py"
        subprocess.run([sys.executable, str(script), str(self.path)], check=True, capture_output=True)
        self.commits = self.git("rev-list", "--reverse", "HEAD").split()

    def git(self, *arguments: str) -> str:
        """Run git in the repository; return what it printed."""
        identity = ("-c", "user.name=Author", "-c", "user.email=author@example.invalid")
        done = subprocess.run(["git", *identity, *arguments], cwd=self.path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def adopt(self, branch: str, parent: str, files: Mapping[str, str] = MappingProxyType({})) -> str:
        """Take the workflows and the workload file in, in a branch on top of a commit; return the new commit.

        Parameters
        ----------
        files
            More files: texts by path.
        """
        self.git("checkout", "--quiet", "--force", "-B", branch, parent)
        shutil.copytree(ROOT / ".github", self.path / ".github", dirs_exist_ok=True)
        shutil.copy(ROOT / "workloads/copy_service/workload.toml", self.path)
        for name, text in files.items():
            (self.path / name).write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Watch the faults")
        return self.git("rev-parse", "HEAD")
