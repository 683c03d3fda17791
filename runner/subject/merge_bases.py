"""Decides what a gate compares: head with its merge base, or the result of merging head with the target's tip.

Two branches can have several merge bases, for example after criss-cross merges. The author of one branch can then
choose which merge base is the newest, and head's difference from it is not what the merge would change: a fix that
only one merge base contains could be lost unnoticed. In this case, the merge itself is created and measured. Its
objects are stored outside of the repository, which is only read.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.word_list import join_first_words
from runner.errors import FaultwatchError
from runner.subject.hardened_git import Checkout, GitError, build_hardened_environment, execute_git
from runner.subject.repository import FULL_HISTORY_HINT, Repository
from runner.system.scratch import make_scratch_folder

_CONFLICT_STATUS, _USAGE_STATUS = 1, 129
_AUTHOR_VARIABLES = {f"GIT_{who}_{what}": "faultwatch" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_MAX_NAMED_FILES = 3
"""The largest number of files with conflicts that a message names."""
_MERGE_SETTINGS = {
    "merge.default": "text",
    "merge.renames": "true",
    "merge.renormalize": "false",
    "merge.directoryRenames": "conflict",
}
"""Settings that override a user's configuration of merges, so that no merge driver runs."""


class GateEnds(Struct, frozen=True):
    """The two commits that a gate compares, and how they were chosen.

    Attributes
    ----------
    repository
        The repository that contains all commits, including the merge.
    target
        The tip of the branch into which head is to be merged: the only commit that head's author cannot influence.
    head
        The head of the pull request.
    base, measured_commit
        The compared commits: ``measured_commit`` is head, or the merge of head into the target.
    merge_bases
        The merge bases of the target and head.
    """

    repository: Repository
    target: str
    head: str
    base: str
    measured_commit: str
    merge_bases: tuple[str, ...]

    @property
    def is_merge(self) -> bool:
        """Whether the merge is measured instead of head."""
        return self.measured_commit != self.head


@contextmanager
def prepare_gate_ends(repository: Repository, base: str, head: str) -> Iterator[GateEnds]:
    """Yield the commits that a gate of the range ``base..head`` compares; if necessary, create a temporary merge.

    Raises
    ------
    FaultwatchError
        There is nothing to compare, this clone lacks the merge bases, or the commits cannot be merged.
    """
    target, tip = repository.resolve(base), repository.resolve(head)
    merge_bases = repository.find_merge_bases(base, head)
    if tip in merge_bases:
        raise FaultwatchError(
            f"{head} is already contained in {base}, so there is nothing to compare",
            "put the target branch of the merge first, as in main..HEAD",
        )
    is_shallow = repository.is_shallow()
    if is_shallow and (len(merge_bases) > 1 or repository.may_lack_fork_point(base, head)):
        raise FaultwatchError(
            f"{repository.name} is a shallow clone that may lack the commit where {base} and {head} diverged",
            FULL_HISTORY_HINT,
        )
    ends = GateEnds(repository, target, tip, merge_bases[0], tip, merge_bases)
    if len(merge_bases) == 1:
        yield ends
        return
    with make_scratch_folder() as scratch:
        separated_repository = _separate_new_objects(repository, scratch)
        merge = _create_merge_commit(separated_repository, (base, head), ends, scratch)
        yield replace(ends, repository=separated_repository, base=target, measured_commit=merge)


def _separate_new_objects(repository: Repository, scratch: Path) -> Repository:
    """Return the repository with a temporary folder for new objects, so that the repository itself is only read."""
    objects = scratch / "objects"
    (objects / "info").mkdir(parents=True)
    own_objects = repository.git("rev-parse", "--path-format=absolute", "--git-path", "objects", decode_paths=True)
    (objects / "info" / "alternates").write_bytes(os.fsencode(own_objects))
    return replace(repository, objects=objects)


def _create_merge_commit(
    separated_repository: Repository, names: tuple[str, str], ends: GateEnds, scratch: Path
) -> str:
    """Create the merge of head into the target; return its hash, which depends only on these two commits.

    Parameters
    ----------
    names
        The names of the target and of head, as the user wrote them, for messages.

    Raises
    ------
    FaultwatchError
        The commits cannot be merged.
    """
    base, head = names
    tree = _write_merged_tree(separated_repository, names, ends, scratch)
    moment = max(separated_repository.get_revision(commit).committed_at for commit in (ends.target, ends.head))
    date_variables = {f"GIT_{who}_DATE": f"@{int(moment.timestamp())} +0000" for who in ("AUTHOR", "COMMITTER")}
    parents = ("-p", ends.target, "-p", ends.head)
    title = f"Merge {ends.head[:10]} into {ends.target[:10]}"
    try:
        return separated_repository.git(
            "commit-tree", *parents, "-m", title, tree, variables=_AUTHOR_VARIABLES | date_variables
        ).strip()
    except GitError as error:
        raise FaultwatchError(
            f"{separated_repository.name}: {head} could not be merged into {base}: {error.what}", error.remedy
        ) from None


def _write_merged_tree(separated_repository: Repository, names: tuple[str, str], ends: GateEnds, scratch: Path) -> str:
    """Merge the target and head without a work tree, and return the hash of the resulting tree.

    Raises
    ------
    FaultwatchError
        The commits conflict, or this version of git cannot merge them without a work tree.
    """
    base, head = names
    problem = (
        f"{base} and {head} have {len(ends.merge_bases)} merge bases, so the gate measures the result of merging "
        f"{head} into {base}"
    )
    manual_remedy = f"merge {base} into {head}, so that there is one merge base"
    empty_folder = scratch / "empty"
    empty_folder.mkdir()
    # Use an empty work tree and index, so that attributes of a checkout cannot choose how files are merged.
    environment = build_hardened_environment(
        checkout=Checkout(empty_folder, scratch / "index"), more_settings=_MERGE_SETTINGS
    )
    git_folder = separated_repository.git("rev-parse", "--absolute-git-dir", decode_paths=True).removesuffix("\n")
    git_options = ["-C", str(empty_folder), f"--git-dir={git_folder}"]
    arguments = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ends.target, ends.head]
    variables = {**environment, "GIT_OBJECT_DIRECTORY": str(separated_repository.objects)}
    result = execute_git([*git_options, *arguments], "merge-tree", variables)
    if result.returncode == _USAGE_STATUS:
        raise FaultwatchError(f"{problem}, which needs git 2.38 or later", f"update git, or {manual_remedy}")
    tree, *files = os.fsdecode(result.stdout).strip("\0").split("\0")
    if result.returncode == _CONFLICT_STATUS:
        file_names = [ascii(name)[1:-1] for name in dict.fromkeys(files)]  # Printable, without quotes.
        named_files = join_first_words(file_names, _MAX_NAMED_FILES)
        raise FaultwatchError(f"{problem}, but they conflict in {named_files}", manual_remedy)
    if result.returncode:
        error_lines = result.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {result.returncode}"]
        raise FaultwatchError(f"{problem}, but git merge-tree failed: {error_lines[-1]}", manual_remedy)
    return tree
