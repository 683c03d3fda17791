"""Makes histories out of the commits of a real project, in a clone: with commits for documents, with a planted file."""

import os
import re
import subprocess
from pathlib import Path

PLANTED = "faultwatch-planted"
_DOCUMENT = re.compile(r"(^|/)(readme[^/]*|[^/]*\.(md|rst|txt|adoc))$", re.IGNORECASE)
_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Author"), ("EMAIL", "author@example.invalid"))
}


def git(folder: Path, *words: str, given: str | None = None) -> str:
    """Run git in a repository; return what it printed."""
    environment = {**os.environ, **_IDENTITY}
    result = subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, input=given, env=environment
    )
    return result.stdout.strip()


def clone(repository: Path, folder: Path, commit: str = "HEAD") -> Path:
    """Clone a repository, of which nothing is written, and check a commit out."""
    source = str(repository.resolve())
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", "--shared", source, str(folder)], check=True)
    git(folder, "checkout", "--quiet", "--detach", commit)
    return folder


def with_documents(repository: Path, span: str) -> tuple[str, list[str]]:
    """Repeat the commits of a range, each fourth followed by one that changes a document; return range and commits.

    Raises
    ------
    ValueError
        If a commit has no document.
    """
    first = git(repository, "rev-parse", span.split("..", maxsplit=1)[0])
    made: list[str] = []
    sources = git(repository, "rev-list", "--reverse", "--first-parent", span).split()
    # Of five commits, four are real ones: the range has as many as before.
    for number, source in enumerate(sources[: (4 * len(sources) + 4) // 5], 1):
        made.append(_commit(repository, f"{source}^{{tree}}", made[-1] if made else first, f"Commit {number}"))
        if number % 4 == 0:
            names = git(repository, "ls-tree", "-r", "--name-only", source).splitlines()
            document = next((name for name in names if _DOCUMENT.search(name)), None)
            if document is None:
                raise ValueError(f"{source} has no document to change")
            tree = _tree_with(repository, source, document, f"Document {number}\n")
            made.append(_commit(repository, tree, made[-1], f"Document {number}"))
    return f"{first}..{made[-1]}", made


def plant_file(repository: Path, span: str) -> tuple[str, str, str, int]:
    """Repeat the commits of a range with a further file from the middle on; return ends, culprit and number."""
    first = git(repository, "rev-parse", span.split("..", maxsplit=1)[0])
    sources = git(repository, "rev-list", "--reverse", "--first-parent", span).split()
    made: list[str] = []
    for number, source in enumerate(sources):
        planted = number >= len(sources) // 2
        tree = _tree_with(repository, source, PLANTED, "planted\n") if planted else f"{source}^{{tree}}"
        made.append(_commit(repository, tree, made[-1] if made else first, f"Commit {number}"))
    return first, made[-1], made[len(sources) // 2], len(made)


def _commit(repository: Path, tree: str, parent: str, title: str) -> str:
    resolved = git(repository, "rev-parse", tree)
    return git(repository, "commit-tree", resolved, "-p", parent, "-m", title)


def _tree_with(repository: Path, commit: str, path: str, content: str) -> str:
    """Return a commit's tree with other content of one file."""
    blob = git(repository, "hash-object", "-w", "--stdin", given=content)
    index = {"GIT_INDEX_FILE": str(repository / ".git" / "bench-index")}
    for words in (
        ("read-tree", commit),
        ("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"),
    ):
        subprocess.run(["git", "-C", str(repository), *words], check=True, env={**os.environ, **index})
    result = subprocess.run(
        ["git", "-C", str(repository), "write-tree"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **index},
    )
    return result.stdout.strip()
