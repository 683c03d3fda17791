"""Runs workflows on this machine with act; GitHub's own actions are stood in for, the rest is real."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv" / "bin"
PROGRAMS = Path(sys.executable).parent
"""Where the commands of the environment are in which the tests run, such as ``faultwatch``."""

_CHECKOUT = """
name: checkout
description: Fetches the branches of a repository on this machine, as the real one does from GitHub.
inputs: {ref: {}, fetch-depth: {}, persist-credentials: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {REF: "${{ inputs.ref || github.sha }}"}
      run: |
        git init -q . && git remote add origin "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"
        git fetch -q "$SUBJECT" '+refs/heads/*:refs/remotes/origin/*'
        # What no branch holds, such as the head of a fork's pull request, is fetched by its hash.
        git cat-file -e "$REF" 2>/dev/null || git fetch -q "$SUBJECT" "$REF"
        git checkout -q "$REF"
"""
_UPLOAD = """
name: upload-artifact
description: Keeps a file.
inputs: {name: {}, path: {}, overwrite: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {FILE: "${{ inputs.path }}", NAME: "${{ inputs.name }}"}
      run: |
        # One file is kept by the name of the artifact, several by their own in its folder.
        mapfile -t files < <(grep . <<<"$FILE")
        if [ "${#files[@]}" = 1 ]; then
          if [ -e "$FILE" ]; then cp "$FILE" "$KEPT/$NAME.json"; fi
        else
          mkdir -p "$KEPT/$NAME"
          for file in "${files[@]}"; do if [ -e "$file" ]; then cp "$file" "$KEPT/$NAME"; fi; done
        fi
"""
_DOWNLOAD = """
name: download-artifact
description: Brings the files back that upload-artifact kept.
inputs: {name: {}, path: {}, run-id: {}, github-token: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {FOLDER: "${{ inputs.path }}", NAME: "${{ inputs.name }}"}
      run: mkdir -p "$FOLDER" && cp "$KEPT/$NAME"/* "$FOLDER"
"""
_CACHE = """
name: cache
description: Keeps nothing.
inputs: {path: {}, key: {}}
runs:
  using: composite
  steps: [{shell: bash, run: "true"}]
"""
_UPLOAD_PAGES = """
name: upload-pages-artifact
description: Keeps the pages of a site.
inputs: {path: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {FOLDER: "${{ inputs.path }}"}
      run: cp -r "$FOLDER" "$KEPT/site"
"""
_DEPLOY_PAGES = """
name: deploy-pages
description: Says that the site is there.
runs:
  using: composite
  steps: [{shell: bash, run: touch "$KEPT/deployed"}]
"""
_STAND_INS = {
    "checkout": _CHECKOUT,
    "upload-artifact": _UPLOAD,
    "download-artifact": _DOWNLOAD,
    "cache": _CACHE,
    "upload-pages-artifact": _UPLOAD_PAGES,
    "deploy-pages": _DEPLOY_PAGES,
}


@dataclass(frozen=True)
class Done:
    """A workflow that was run."""

    returncode: int
    log: str
    kept: Path

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of all steps; of those with one name, the last."""
        return dict(re.findall(r"::set-output:: ([a-z_-]+)=(.*)", self.log))

    @property
    def summaries(self) -> list[str]:
        """The summaries of the jobs, with their entities read, in the order in which the jobs ended."""
        found = re.findall(r"Summary - (.*?)^\[", self.log, re.DOTALL | re.MULTILINE)
        return [re.sub(r"&#(\d+);", lambda one: chr(int(one[1])), text) for text in found]

    @property
    def summary(self) -> str:
        """The summary of the last job; empty if there is none."""
        return self.summaries[-1] if self.summaries else ""


def act(folder: Path, subject: Path, event: str, workflow: str, *more: str, **environment: str) -> Done:
    """Run a workflow of a repository.

    Parameters
    ----------
    folder
        Where everything that it leaves behind goes.
    """
    for name, action in _STAND_INS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "action.yml").write_text(action)
    kept = folder / "kept"
    kept.mkdir(exist_ok=True)
    templates = (ROOT / "runner/ci/templates").glob("github*.yml")
    files = [ROOT / ".github/workflows/gate.yml", ROOT / "action.yml", *templates]
    texts = "".join(file.read_text() for file in files)
    # By a hash in the files that are kept, by a version in those that documents show.
    pins = set(re.findall(r"uses: (actions/[\w-]+)@([0-9a-f]{40})", texts))
    pins |= set(re.findall(r"uses: (actions/[\w-]+)@(v\d+)\b", (subject / ".github/workflows" / workflow).read_text()))
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    told = {"SUBJECT": str(subject), "KEPT": str(kept), "PYTHONPATH": str(ROOT)}
    told |= {"GITHUB_REPOSITORY": "example/copy-service", "FAULTWATCH_HOST_LOCK": os.environ["FAULTWATCH_HOST_LOCK"]}
    told |= environment
    done = subprocess.run(
        [
            *(str(TOOLS / "act"), event, "-W", f".github/workflows/{workflow}", "-P", "self-hosted=-self-hosted"),
            *(
                part
                for name, pin in sorted(pins)
                for part in ("--local-repository", f"{name}@{pin}={_at(folder, name)}")
            ),
            *(part for name, value in told.items() for part in ("--env", f"{name}={value}")),
            *more,
        ],
        cwd=subject,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, kept)


def copy_checkout(folder: Path) -> Path:
    """Copy this checkout into a folder once, without what is installed in it: act reads all of an action at once."""
    copied = folder / "faultwatch"
    if copied.exists():
        return copied
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).exists():
            (copied / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copied / name, follow_symlinks=False)
    return copied


def _at(folder: Path, name: str) -> Path:
    return folder / name.removeprefix("actions/")
