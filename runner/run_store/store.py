"""A run store: adds the results of a command, and yields the intact documents."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from pydantic import ValidationError

from runner.contract.base import Strict
from runner.contract.comparison import ComparisonRequest
from runner.contract.report import Ref, Report, Revision, RevisionList
from runner.errors import FaultwatchError
from runner.run_store.branch_files import make_branch_files
from runner.run_store.document_names import DocumentName, Kind, make_name, parse_name
from runner.run_store.folder_files import FolderFiles
from runner.subject.repository import Repository
from runner.system.home_folder import expand_home

_BRANCH = "branch:"


class StoreFiles(Protocol):
    """The place of a store's files: a folder or a branch."""

    @property
    def description(self) -> str:
        """A description of where the files are, for messages."""

    def open(self, *, may_be_new: bool) -> None:
        """Check that the place is a store; with ``may_be_new``, create the store if it does not exist."""

    def list_names(self) -> list[str]:
        """Return the names of all files."""

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield files with their contents."""

    def write(self, name: str, content: bytes) -> None:
        """Add a file."""

    def finish(self) -> None:
        """Write the documents that are not written yet."""


class RunStore(Struct, frozen=True):
    """A run store in a folder or a branch."""

    files: StoreFiles
    warn: Callable[[str], None]
    """Called with a message about each file that cannot be used."""

    def add_report(self, report: Report) -> None:
        """Add a run."""
        self._add(Kind.REPORTS, report.subject, report)

    def add_proof(self, request: ComparisonRequest) -> None:
        """Add the runs of a proof."""
        self._add(Kind.PROOFS, request.base.subject, request)

    def add_history(self, subject: str, revisions: Sequence[Revision], tags: Sequence[Ref]) -> None:
        """Add the commits and tags that the store does not have yet.

        Raises
        ------
        FaultwatchError
            This version cannot read a stored list of commits, or the new ones cannot be stored.
        """
        stored_items: set[Revision | Ref] = set()
        for name, content in self.read(Kind.REVISIONS, {subject}):
            try:
                part = RevisionList.model_validate_json(content)
            except ValidationError as error:
                raise make_version_error(self.files.description, name, error) from None
            stored_items.update(part.revisions, part.refs)
        new_revisions = tuple(revision for revision in revisions if revision not in stored_items)
        new_tags = tuple(tag for tag in tags if tag not in stored_items)
        if new_revisions or new_tags:
            self._add(Kind.REVISIONS, subject, RevisionList(revisions=new_revisions, refs=new_tags))

    def list_documents(self, kind: Kind, subjects: set[str] | None = None) -> list[DocumentName]:
        """Return the names of the files of a kind that belong to the given subjects (None for all)."""
        names = (parse_name(text) for text in self.files.list_names())
        return [
            name
            for name in names
            if name is not None and name.kind is kind and (subjects is None or name.subject in subjects)
        ]

    def read(self, kind: Kind, subjects: set[str] | None = None) -> Iterator[tuple[DocumentName, bytes]]:
        """Yield the intact files of a kind with their contents; warn about damaged ones."""
        names = {name.text: name for name in self.list_documents(kind, subjects)}
        for text, content in self.files.read(names):
            if names[text].matches(content):
                yield names[text], content
            else:
                self.warn(f"{self.files.description}: {text} is damaged and was skipped; delete it or restore it")

    def finish(self) -> None:
        """Write the documents that are not written yet."""
        self.files.finish()

    def _add(self, kind: Kind, subject: str, document: Strict) -> None:
        content = document.model_dump_json().encode()
        self.files.write(make_name(kind, subject, content), content)


def make_version_error(
    store_description: str, name: DocumentName, error: ValidationError | FaultwatchError
) -> FaultwatchError:
    """Return the error about an intact file that this version cannot read."""
    reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.what
    return FaultwatchError(
        f"{store_description}: {name.text} cannot be read by this version: {reason}",
        "install the version that wrote it",
    )


def is_branch(address: str) -> bool:
    """Return whether the address of a store means a branch of the repository, not a folder."""
    return address.startswith(_BRANCH)


def open_store(
    address: str, repository: Repository | None, warn: Callable[[str], None], *, may_be_new: bool
) -> RunStore:
    """Open the store at an address, which is ``FOLDER`` or ``branch:NAME``.

    Parameters
    ----------
    repository
        The repository with the branch; None outside of a repository.
    may_be_new
        Whether to create a store if there is none.

    Raises
    ------
    FaultwatchError
        There is no store at the address, it cannot be used, or a newer version wrote it.
    """
    files: StoreFiles
    if not address:
        raise FaultwatchError("the name of the run store is empty", "pass a folder, or branch:NAME")
    if is_branch(address):
        if repository is None:
            raise FaultwatchError(
                f"{address} names a branch, but the current folder is not in a git repository",
                "run the command in the repository, or pass --repo",
            )
        files = make_branch_files(repository, address.removeprefix(_BRANCH))
    else:
        files = FolderFiles(expand_home(address).absolute())
    files.open(may_be_new=may_be_new)
    return RunStore(files, warn)
