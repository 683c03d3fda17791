"""Writes a git repository into a checkout, for scripts that derive a version from the history, such as setuptools-scm.

It contains every commit up to the revision, the tags of these commits, the files of the revision, and the trees of its
parents, which ``git show`` reads even if it prints only the date. It has no remote, no hooks and no link to the
repository from which it was made, so it gives no access to anything outside of a sandbox.
"""

from pathlib import Path

from runner.contract.report import hash_document
from runner.errors import FaultwatchError
from runner.subject.hardened_git import Checkout, build_hardened_environment, execute_git
from runner.subject.repository import Repository


def hash_visible_tags(repository: Repository, commit: str) -> str:
    """Return a hash of the tags that a build can see, because a new tag can change the derived version.

    Raises
    ------
    FaultwatchError
        git fails.
    """
    return hash_document(_read_tags(repository, commit))


def write_git_directory(repository: Repository, commit: str, tree: Path) -> None:
    """Write ``.git`` into the checkout of a commit, with the index of its files.

    Raises
    ------
    FaultwatchError
        If git fails.
    """
    build_repository = Repository(tree / ".git", repository.name, bare=True)
    _run_git("init", "--quiet", "--initial-branch=main", str(tree))
    # List the objects: all commits, the files of this commit, and the trees of its parents.
    tags = _read_tags(repository, commit)
    list_command = ("rev-list", "--objects", "--no-object-names")
    common_directory = repository.get_common_directory()
    # Pass the tags as input: some projects have more of them than fit into a command line.
    tips = "\n".join((commit, *tags.values())).encode()
    commits = _run_git(
        *list_command, "--filter=tree:0", "--stdin", git_dir=common_directory, objects=repository.objects, data=tips
    ).decode()
    files = repository.git(*list_command, "--no-walk", commit)
    parents = repository.git("rev-parse", f"{commit}^@").split()
    parent_trees = repository.git(*list_command, "--no-walk", "--filter=blob:none", *parents) if parents else ""
    names = sorted({*commits.split(), *files.split(), *parent_trees.split()})
    # Copy the objects.
    pack_command = ("pack-objects", "--stdout", "--quiet", "--delta-base-offset")
    object_list = "\n".join(names).encode()
    pack = _run_git(*pack_command, git_dir=common_directory, objects=repository.objects, data=object_list)
    _run_git("index-pack", "--stdin", git_dir=build_repository.path, data=pack)
    if repository.is_shallow():
        (tree / ".git" / "shallow").write_bytes((common_directory / "shallow").read_bytes())
    # Write the refs and the index.
    build_repository.git("update-ref", "--no-deref", "HEAD", commit)
    # All tags are in one file, in git's own format: a file for each of thousands would take seconds.
    packed_tags = "".join(f"{target} {name}\n" for name, target in tags.items())
    (tree / ".git" / "packed-refs").write_text(packed_tags, encoding="utf-8")
    checkout = Checkout(tree.absolute(), (tree / ".git" / "index").absolute())
    build_repository.git("read-tree", commit, checkout=checkout)
    # The command exits with 1 if a file differs from the commit, as files of Git LFS do.
    _run_git("update-index", "-q", "--really-refresh", git_dir=build_repository.path, checkout=checkout, check=False)


def _read_tags(repository: Repository, commit: str) -> dict[str, str]:
    """Return the objects to which the tags of a commit and its ancestors refer, by the full name of the tag."""
    text = repository.git("for-each-ref", f"--merged={commit}", "--format=%(refname) %(objectname)", "refs/tags")
    return dict(line.split(" ", 1) for line in filter(None, text.split("\n")))


def _run_git(
    subcommand: str,
    *arguments: str,
    git_dir: Path | None = None,
    objects: Path | None = None,
    checkout: Checkout | None = None,
    data: bytes = b"",
    check: bool = True,
) -> bytes:
    """Run git for the repository that a build sees, and return its output.

    Parameters
    ----------
    git_dir
        The repository; None if the command creates one.
    objects
        A folder with objects that the gate has created for the repository, such as a merge; None if there are none.
    data
        The standard input of git.
    check
        Whether to raise an error if git fails.

    Raises
    ------
    FaultwatchError
        git fails and ``check`` is set, is not installed, or does not finish in time.
    """
    object_variables = {"GIT_OBJECT_DIRECTORY": str(objects)} if objects else {}
    environment = build_hardened_environment(filters=["lfs"], checkout=checkout) | object_variables
    git_dir_option = [f"--git-dir={git_dir}"] if git_dir else []
    result = execute_git([*git_dir_option, subcommand, *arguments], subcommand, environment, data)
    if check and result.returncode:
        error_lines = result.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {result.returncode}"]
        raise FaultwatchError(
            f"the git repository for the build cannot be written: {error_lines[-1]}",
            "check that the disk of FAULTWATCH_HOME has free space, and that git works",
        )
    return result.stdout
