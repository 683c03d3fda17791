"""Where a history keeps its runs: in a service, or in a store of files, for which a temporary service is started."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from runner.cli.activity import show_activity
from runner.cli.terminal import print_message, print_warning
from runner.contract.report import Revision
from runner.errors import FaultwatchError
from runner.reporting import embedded_service
from runner.reporting.client import Service
from runner.reporting.spool import Spool
from runner.run_store.sending import count_documents, send_store
from runner.run_store.store import RunStore, is_branch, open_store
from runner.settings import Settings
from runner.subject.repository import Repository
from runner.system.scratch import make_scratch_folder


class KeptHistory(Struct, frozen=True):
    """The service that plans and judges a history, and the store that keeps its runs."""

    service: Service
    spool: Spool
    store: RunStore | None = None
    """The store of files; None if the service itself keeps the runs."""


def open_history_store(settings: Settings, location: str | None, repository: Repository) -> RunStore | None:
    """Open or create the store that ``--store`` names; return None without the option.

    Raises
    ------
    FaultwatchError
        A service is configured as well, or the location cannot be used.
    """
    if location is None:
        return None
    if settings.url:
        raise FaultwatchError(
            "--store and FAULTWATCH_URL both say where runs are kept", "unset FAULTWATCH_URL, or omit --store"
        )
    if is_branch(location) and repository.path.is_relative_to(settings.clones):
        raise FaultwatchError(
            f"--store {location}: --repo is a URL, so the branch would be in Faultwatch's own clone, which nobody sees",
            "clone it, and pass the path of the clone",
        )
    return open_store(location, repository, print_warning, may_be_new=True)


@contextmanager
def keep_history(
    settings: Settings, store: RunStore | None, repository: Repository, revisions: tuple[Revision, ...]
) -> Iterator[KeptHistory]:
    """Connect to the service; for a store, start a service that contains only the runs of the store.

    Parameters
    ----------
    revisions
        The commits of the history. The store keeps them too, because they determine the order of its runs.
    """
    with ExitStack() as stack:
        if store is None:
            yield KeptHistory(stack.enter_context(embedded_service.connect_to_service(settings)), Spool(settings.spool))
            return
        home = stack.enter_context(make_scratch_folder())
        service = stack.enter_context(embedded_service.connect_to_service(settings, home))
        send_whole_store(store, service, {repository.name})
        # Finish the store however the command ends, so that it keeps what was measured before.
        stack.callback(store.finish)
        store.add_history(repository.name, revisions, [ref for ref in repository.list_refs() if ref.kind == "tag"])
        yield KeptHistory(service, Spool(home / "spool"), store)


def send_whole_store(store: RunStore, service: Service, subjects: set[str] | None = None) -> int:
    """Send the runs of a store to a service, with a progress bar; return their number.

    Parameters
    ----------
    subjects
        The subjects whose runs are sent; None for all.
    """
    with show_activity(f"reading {store.files.description}") as activity:
        activity.set_remaining_steps(count_documents(store, subjects))
        return send_store(store, service.connect_with_retries(print_message), subjects, activity.advance).runs


def suggest_publishing(location: str) -> str:
    """Return where the runs are stored, and the command that writes static pages that show them."""
    argument = shlex.quote(f"./{location}" if location.startswith("-") else location)
    return f"The runs are in {location}. `faultwatch publish {argument} --to site` writes static pages that show them."
