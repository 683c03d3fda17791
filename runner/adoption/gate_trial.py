"""Builds a revision as the gate does, in a sandbox without network access, to find out early what the build lacks."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.report import Revision
from runner.errors import FaultwatchError
from runner.subject.build import Builder, BuildFailure
from runner.subject.repository import Repository
from runner.subject.sandbox_needs import NO_NETWORK, list_hidden_needs, list_needs
from runner.workload import Workload
from runner.workload.workload_folder import get_build_variables


class GateTrial(Struct, frozen=True):
    """How a build in the gate's sandbox ended.

    Attributes
    ----------
    readable
        The folders that the sandbox must show in addition to those of the system, for ``FAULTWATCH_SANDBOX_READ``.
    seconds
        The duration of the build; 0 if nothing was built.
    problem
        Why the build failed, in one line; empty if it succeeded.
    log
        The last lines of the build's output.
    is_untried
        Whether nothing was built because this host cannot run a sandbox. ``problem`` then says why.
    """

    readable: tuple[str, ...] = ()
    seconds: float = 0.0
    problem: str = ""
    log: str = ""
    is_untried: bool = False


def try_gate_build(
    repository: Repository, revision: Revision, workload: Workload, make_builder: Callable[[], Builder]
) -> GateTrial:
    """Build a revision as a gate would; return how that ended, and the folders that the gate's sandbox must show.

    These folders are those that the sandbox would hide from the build, and, if the build failed because it needs the
    network, the folders that its packages have yet to be put into. Nothing is built without a build command.

    Parameters
    ----------
    make_builder
        Returns a builder that uses a sandbox. As the code is the user's own, error messages may name what the sandbox
        hides.
    """
    if workload.build.command is None:
        return GateTrial()
    try:
        builder = make_builder()
    except FaultwatchError as error:
        return GateTrial(problem=_describe_error(error), is_untried=True)
    try:
        assert builder.sandbox
        environment = get_build_variables(workload)
        hidden_needs = list_hidden_needs(list_needs(workload.build.needs, environment), builder.sandbox)
        folders = tuple(dict.fromkeys(str(need.folder) for need in hidden_needs))
        sandbox = replace(builder.sandbox, readable_folders=(*builder.sandbox.readable_folders, *folders))
        readable_folders = tuple(_make_folder_portable(Path(folder)) for folder in sandbox.readable_folders)
        # A build that failed earlier is repeated, because the user may have installed what it lacked.
        builder = replace(builder, sandbox=sandbox, reveals_host=True, retry_failed=True)
        _, build = builder.build(repository, revision.commit, workload)
    except BuildFailure as failure:
        if NO_NETWORK in failure.message:
            # The message suggests filling a folder with packages. The gate must show this folder once it exists.
            unfilled_folders = [need.folder for need in list_needs((), environment) if not need.folder.exists()]
            readable_folders = (*readable_folders, *map(_make_folder_portable, unfilled_folders))
        return GateTrial(readable_folders, failure.build.seconds, problem=failure.message, log=failure.build.log)
    except FaultwatchError as error:
        return GateTrial(problem=_describe_error(error))
    return GateTrial(readable_folders, build.seconds)


def _describe_error(error: FaultwatchError) -> str:
    return f"{error.what} ({error.remedy})" if error.remedy else error.what


def _make_folder_portable(folder: Path) -> str:
    """Return a path that is valid for other users too: a folder in the user's home is written relative to the home."""
    home = Path.home()
    is_in_home = folder.is_relative_to(home) and folder != home
    return f"~/{folder.relative_to(home)}" if is_in_home else str(folder)
