"""Builds revisions, each once: a build is cached by revision, recipe and tools."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.contract.report import Build, hash_of
from runner.environment.secrets import without_secrets
from runner.errors import FaultwatchError
from runner.execution.execute import execute
from runner.execution.sandbox import Sandbox
from runner.execution.start_block import BASE_VARIABLES
from runner.subject.checkout_size import LIST_FILES
from runner.subject.checkout_size import objection_to as objection_to_checkout
from runner.subject.confined_build import execute_confined
from runner.subject.repository import Repository
from runner.system.regular_file import open_regular
from runner.system.tree_walk import TreeTooLarge, fingerprint, objection_to, remove_tree, walk
from runner.workload import Workload
from runner.workload.source_tree import copied, copy_sources, digest_of_all, source_files

LOG_LIMIT = 60_000
"""Characters kept from the end of a build log, where the errors are."""


class BuildFailure(Exception):
    """A revision does not build. This is a result, not an error of Faultwatch."""

    def __init__(self, message: str, build: Build) -> None:
        super().__init__(message)
        self.message = message
        self.build = build


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds revisions of one repository into a cache.

    Attributes
    ----------
    cache
        The folder that contains one folder for each build.
    tools
        The build tools, by name and version. A different compiler makes a different build.
    sandbox
        The sandbox of the build, if any. Sandboxed builds are cached separately: code in a sandbox can write to its
        tree, and what it leaves there must not be executed outside a sandbox.
    """

    cache: Path
    tools: Mapping[str, str]
    sandbox: Sandbox | None = None

    def build(self, repository: Repository, commit: str, workload: Workload) -> tuple[Path, Build]:
        """Return the folder of a built revision; build it if the cache lacks it.

        Raises
        ------
        BuildFailure
            The build command fails; this is cached too, so the next call fails at once with the same log. Or this host
            lacks a program that the build needs, which is not cached.
        FaultwatchError
            The checkout fails or the build tool is not installed: not the fault of the revision.
        """
        if lacking := missing_programs(workload):
            raise BuildFailure(lacking, Build())
        place = self.cache / self._key(repository, commit, workload)
        record = place / "build.json"
        if not record.exists() or self._is_changed(place, workload):
            self._make(repository, commit, workload, place)
            cached = False
        else:
            cached = True
        document = json.loads(record.read_text(encoding="utf-8"))
        build = Build.model_validate(document["build"] | {"cached": cached})
        if document["failure"]:
            raise BuildFailure(document["failure"], build)
        return place / "tree", build

    def _key(self, repository: Repository, commit: str, workload: Workload) -> str:
        recipe = [repository.name, workload.definition, dict(self.tools), self.sandbox is not None]
        if workload.build.directory == "workload":
            recipe.append(digest_of_all(copied(source_files(workload.path.parent))))
        return f"{commit}-{hash_of(recipe)}"

    def _make(self, repository: Repository, commit: str, workload: Workload, place: Path) -> None:
        partial = place.with_name(f"{place.name}.partial")
        if partial.exists():
            remove_tree(partial)
        partial.mkdir(parents=True)
        tree = partial / "tree"
        self._fill(repository, commit, workload, tree)
        failure, build = _run_build(workload, tree, self.sandbox)
        if not failure and (objection := objection_to(tree)):
            failure = f"the tree {objection}"
        if failure:
            remove_tree(tree)
        else:
            _settle(tree)
            if self.sandbox:
                self.sandbox.change_owner(tree)
        made = None if failure or not self.sandbox else fingerprint(tree, workload.run.output_file)
        record = {"build": build.model_dump(mode="json"), "failure": failure, "tree": made}
        (partial / "build.json").write_text(json.dumps(record), encoding="utf-8")
        if place.exists():
            remove_tree(place)
        partial.rename(place)

    def _is_changed(self, place: Path, workload: Workload) -> bool:
        """Whether a program that ran in a tree has changed it: a later run must not execute what that left."""
        made = json.loads((place / "build.json").read_text(encoding="utf-8")).get("tree")
        if made is None:
            return False
        try:
            return bool(fingerprint(place / "tree", workload.run.output_file) != made)
        except (OSError, TreeTooLarge):
            return True

    def _fill(self, repository: Repository, commit: str, workload: Workload, tree: Path) -> None:
        if workload.build.directory == "workload":
            copy_sources(copied(source_files(workload.path.parent)), tree)
            return
        if self.sandbox and (objection := objection_to_checkout(repository.git(*LIST_FILES, commit))):
            raise BuildFailure(objection, Build())
        worktree = tree.with_name("worktree")
        with repository.checkout(commit, worktree):
            # Leave out the .git link, so that a build that runs git does not see the runner's repository.
            shutil.copytree(worktree, tree, symlinks=True, ignore=_git_link)


def _settle(tree: Path) -> None:
    """Write a fresh build to storage.

    While the kernel writes pages back, it locks them briefly. A fault near a locked page maps fewer neighbours than
    usual, which changes the count. Once written, the pages stay unlocked.
    """
    for entry in walk(tree):
        file = Path(entry.path)
        if entry.is_file(follow_symlinks=False) and (os.access(file, os.X_OK) or ".so" in file.suffixes):
            with open_regular(file, links=False) as stream:
                os.fsync(stream.fileno())


def missing_programs(workload: Workload) -> str:
    """Return which of the programs that the build needs are missing, as a sentence; empty if none are."""
    path = workload.build.environment.get("PATH", BASE_VARIABLES["PATH"])
    missing = [name for name in workload.build.needs if not shutil.which(name, path=path)]
    return f"this host does not have {', '.join(missing)}, which the build needs" if missing else ""


def _git_link(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == ".git" and Path(folder, name).is_file()]


def _run_build(workload: Workload, tree: Path, sandbox: Sandbox | None) -> tuple[str, Build]:
    """Run the build command; return why it failed, or an empty string, and the build."""
    command = workload.build.command
    if command is None:
        return "", Build()
    environment = {**BASE_VARIABLES, "HOME": str(tree), **workload.build.environment}
    try:
        timeout = workload.build.timeout
        if sandbox:
            done = execute_confined(command, sandbox=sandbox, tree=tree, environment=environment, timeout=timeout)
        else:
            done = execute(command, directory=tree, environment=environment, timeout=timeout, merge=True)
    except FileNotFoundError:
        raise FaultwatchError(
            f"{workload.path}: [build] command: {command[0]!r} is neither installed nor in the checkout",
            "install it, or correct the command",
        ) from None
    except PermissionError:
        raise FaultwatchError(f"{workload.path}: [build] command: {command[0]!r} is not executable") from None
    build = Build(command=command, seconds=done.seconds, log=without_secrets(done.output, os.environ)[-LOG_LIMIT:])
    return (f"`{' '.join(command)}` {done.problem}" if done.problem else ""), build
