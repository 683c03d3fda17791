"""Finds the commits of imported results in a repository, with all commits between them, its tags and its branches."""

from typing import TYPE_CHECKING

from runner.contract.report import MAX_REVISIONS, Ref, Revision
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.subject.repository import Repository

_MAX_CONNECTED_COMMITS = 20_000
"""Commits between more imported commits than this are not sent: git takes the commits as arguments."""


class CommitFinder:
    """Finds commits by the names that the imported files contain; without a repository, it finds none."""

    def __init__(self, repository: "Repository | None") -> None:
        self._repository = repository
        self._found_revisions: dict[str, Revision | None] = {}  # many rows of a file may name the same revision

    @property
    def repository_name(self) -> str:
        """The name of the repository; empty if there is none."""
        return self._repository.name if self._repository else ""

    def find(self, name: str) -> Revision | None:
        """Return the commit with this name; None if the repository has none."""
        if self._repository is None:
            return None
        if name not in self._found_revisions:
            try:
                self._found_revisions[name] = self._repository.get_revision(name)
            except FaultwatchError:
                self._found_revisions[name] = None
        return self._found_revisions[name]

    def list_history(self) -> tuple[tuple[Revision, ...], tuple[Ref, ...]]:
        """Return the found commits with all commits between them, and the tags and branches of the repository.

        Without the commits between two results, the service could not say which of them can have moved a count. Both
        are empty if no commit was found, or if there are more commits than a request may contain.
        """
        commits = {revision.commit for revision in self._found_revisions.values() if revision}
        if self._repository is None or not 0 < len(commits) <= _MAX_CONNECTED_COMMITS:
            return (), ()
        history = self._repository.list_connecting_revisions(sorted(commits))
        return (history, self._repository.list_refs()) if len(history) <= MAX_REVISIONS else ((), ())
