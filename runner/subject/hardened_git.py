"""Runs git so that a repository can neither execute programs nor block git, and a commit is the same everywhere.

Repositories are untrusted: a checkout can contain a bare repository with hooks, and attributes that name a filter. The
settings below are passed in environment variables, which git treats like ``-c`` options: they override every
configuration file. A user's configuration of git therefore affects neither what is read from a commit nor the files
that are written.
"""

import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from runner.environment.secrets import hide_password
from runner.errors import FaultwatchError
from runner.execution.execution_log import log_command
from runner.system.descendants import list_descendants

TRANSFER_TIMEOUT_SECONDS = 3600.0
"""The time limit in seconds of a command that communicates with another host."""
LOCAL_TIMEOUT_SECONDS = 600.0
"""The time limit in seconds of any other command."""
_CHUNK_BYTES = 1 << 16
_DIFFERENCES_AT_ONCE = 50
"""The number of commits whose diffs are in memory at the same time."""
_CLEANUP_SECONDS = 5.0
"""Seconds that git may take to clean up when it is terminated."""

_SETTINGS: Mapping[str, str] = {
    "safe.bareRepository": "explicit",  # A folder of a checkout may look like a repository.
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.alternateRefsCommand": "",
    "advice.graftFileDeprecated": "false",  # GIT_GRAFT_FILE is set, so git would print this advice in each message.
    "log.showSignature": "false",  # It runs gpg.program.
    "core.sparseCheckout": "false",  # Even from a sparse clone, all files are written.
    "core.splitIndex": "false",  # It would write a part of every index into the repository.
    "core.untrackedCache": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "clone.defaultRemoteName": "origin",
    "init.templateDir": "",  # A template can contain hooks and attributes.
    "core.quotePath": "false",  # Names in a diff are not quoted merely because they are not ASCII.
    "i18n.logOutputEncoding": "UTF-8",
    "i18n.commitEncoding": "UTF-8",
    "core.fsync": "committed",  # Otherwise, a power cut can leave empty objects in a clone.
    "gc.auto": "0",
    "maintenance.auto": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "120",
}
_CHECKOUT_SETTINGS: Mapping[str, str] = {
    "core.attributesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.eol": "lf",
    "core.symlinks": "true",
}
"""Settings that make the written files the same as in the commit, whatever the user has configured for work trees."""
_TRANSFER_SUBCOMMANDS = frozenset({"clone", "fetch", "ls-remote"})
_FILE_READING_SUBCOMMANDS = frozenset({"checkout-index", "read-tree", "status"})
"""Commands of git that pass the files of a work tree through filters."""


class Checkout(Struct, frozen=True):
    """The work tree and the index for a git command, outside of the repository."""

    tree: Path
    index: Path


_MISSING_OBJECT = re.compile(
    r"could not fetch [0-9a-f]{40,64} from promisor|unable to (?:read|find) (?:\w+ file |tree )?\(?[0-9a-f]{40,64}"
    r"|unable to read sha1 file|missing (?:blob|tree|object)\b|could not read [0-9a-f]{40,64}"
)
"""What git prints about an object that a clone lacks because it is partial or damaged."""
COMPLETE_CLONE_HINT = (
    "run `git fetch --refetch` in this clone, or `git fetch --unshallow` if the clone is shallow; or clone the project "
    "again without --filter or --depth"
)


_NO_GIT = ("git is not installed, or not on PATH", "install git, or add its folder to PATH")


class GitError(FaultwatchError):
    """Git failed. The error contains git's message and, if the clone lacks an object, how to complete the clone."""


def run_git(
    *arguments: str,
    git_dir: str | None = None,
    checkout: Checkout | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
    decode_paths: bool = False,
) -> str:
    """Run git and return what it printed.

    Parameters
    ----------
    git_dir
        A bare repository that the user has named. No other bare repository is used.
    checkout
        The work tree and the index to use instead of the repository's own.
    variables
        Further environment variables, such as the author of a commit.
    decode_paths
        Whether the output contains paths. They can be any bytes, so it is decoded as :func:`os.fsdecode` does.

    Raises
    ------
    FaultwatchError
        If git is not installed, fails, or does not finish in time.
    """
    subcommand = _get_subcommand(arguments)
    git_dir_option = [f"--git-dir={git_dir}"] if git_dir else []
    filters: Iterable[str] = ()
    if subcommand in _FILE_READING_SUBCOMMANDS:
        folder_option = arguments[:2] if arguments[0] == "-C" else ()
        filters = _read_configured_filters((*git_dir_option, *folder_option))
    environment = build_hardened_environment(filters=filters, checkout=checkout) | dict(variables)
    if subcommand in _TRANSFER_SUBCOMMANDS:
        log_command(["git", *git_dir_option, *arguments])
    result = execute_git([*git_dir_option, *arguments], subcommand, environment)
    if result.returncode:
        raise _make_error(subcommand, result.returncode, result.stderr)
    return result.stdout.decode(errors="surrogateescape" if decode_paths else "replace")


def iterate_git_entries(
    *arguments: str, git_dir: str | None = None, variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Run git and yield the null-terminated entries that it prints.

    Closing the iterator ends git. Paths are decoded as :func:`os.fsdecode` does.

    Raises
    ------
    FaultwatchError
        If git is not installed, fails, or does not finish in time.
    """
    subcommand = _get_subcommand(arguments)
    command = ["git", *([f"--git-dir={git_dir}"] if git_dir else []), *arguments]
    deadline = time.monotonic() + LOCAL_TIMEOUT_SECONDS
    with tempfile.TemporaryFile() as error_file:
        try:
            process = subprocess.Popen(
                command,
                env={**build_hardened_environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=error_file,
            )
        except FileNotFoundError:
            raise FaultwatchError(*_NO_GIT) from None
        with process:
            try:
                yield from _read_entries(process, subcommand, deadline)
                status = process.wait(max(0.0, deadline - time.monotonic()) + _CLEANUP_SECONDS)
            except subprocess.TimeoutExpired:  # It has closed its output, but still runs.
                _end_process(process)
                raise _make_timeout_error(subcommand, LOCAL_TIMEOUT_SECONDS) from None
            except BaseException:  # This includes GeneratorExit, when the caller closes the iterator early.
                _end_process(process)
                raise
        if status:
            error_file.seek(0)
            raise _make_error(subcommand, status, error_file.read())


def compute_patch_ids(commits: Sequence[str], repository_options: Sequence[str]) -> dict[str, str]:
    """Return the patch ids of the commits that have one, by hash.

    The options of the diff are fixed, so that all clones compute the same ids.

    Parameters
    ----------
    repository_options
        The options of git that name the repository.

    Raises
    ------
    FaultwatchError
        If git is not installed, fails, or does not finish in time.
    """
    environment = build_hardened_environment()
    options = ("--patch", "--unified=3", "--diff-algorithm=myers", "--no-renames", "--no-ext-diff", "--no-textconv")
    ids: dict[str, str] = {}
    for start in range(0, len(commits), _DIFFERENCES_AT_ONCE):
        data = "".join(f"{commit}\n" for commit in commits[start : start + _DIFFERENCES_AT_ONCE]).encode()
        # git diff-tree | git patch-id
        for arguments in (("diff-tree", "--stdin", *options), ("patch-id", "--stable")):
            result = execute_git([*repository_options, *arguments], arguments[0], environment, data)
            if result.returncode:
                raise _make_error(arguments[0], result.returncode, result.stderr)
            data = result.stdout
        for line in data.decode().splitlines():
            patch_id, commit = line.split()
            ids[commit] = patch_id
    return ids


def _read_entries(process: "subprocess.Popen[bytes]", subcommand: str, deadline: float) -> Iterator[str]:
    """Yield the null-terminated entries that git prints, until the deadline."""
    assert process.stdout is not None
    stream, partial_entry = process.stdout.fileno(), b""
    while select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
        data = os.read(stream, _CHUNK_BYTES)
        if not data:
            return
        *entries, partial_entry = (partial_entry + data).split(b"\0")
        yield from map(os.fsdecode, entries)
    raise _make_timeout_error(subcommand, LOCAL_TIMEOUT_SECONDS)


def _make_timeout_error(subcommand: str, seconds: float) -> FaultwatchError:
    needs_network = subcommand in _TRANSFER_SUBCOMMANDS
    remedy = "check the network, or pass your own clone" if needs_network else "try again when the host is less busy"
    return FaultwatchError(f"git {subcommand} did not finish within {seconds:g} s", remedy)


def _make_error(subcommand: str, status: int, error: bytes) -> "GitError":
    """Return an error with the most informative line of git's output, and with a remedy if objects are missing."""
    error_lines = error.decode(errors="replace").strip().splitlines() or [f"exit code {status}"]
    missing_object_line = next(filter(_MISSING_OBJECT.search, error_lines), "")
    line = missing_object_line or next(
        (line for line in error_lines if line.startswith(("fatal:", "error:"))), error_lines[-1]
    )
    return GitError(
        f"git {subcommand}: {hide_password(line.removeprefix('fatal: '))}",
        COMPLETE_CLONE_HINT if missing_object_line else "",
    )


def build_hardened_environment(
    variables: Mapping[str, str] = os.environ,
    *,
    filters: Iterable[str] = (),
    checkout: Checkout | None = None,
    more_settings: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the environment variables for git.

    Parameters
    ----------
    filters
        The names of filters that are configured on this host. They are switched off, because the attributes of an
        untrusted checkout choose which files go through a filter.
    checkout
        The work tree and the index to use instead of the repository's own.
    more_settings
        Settings of git in addition to those of this module.
    """
    settings = {**_SETTINGS, **(_CHECKOUT_SETTINGS if checkout else {}), **more_settings}
    for name in filters:
        settings |= {f"filter.{name}.{key}": "" for key in ("smudge", "clean", "process")}
        settings[f"filter.{name}.required"] = "false"
    inherited_variables = {key: value for key, value in variables.items() if not key.startswith("GIT_")}
    config_variables: dict[str, str] = {}
    for number, (key, value) in enumerate(settings.items()):
        config_variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    checkout_variables = (
        {"GIT_WORK_TREE": str(checkout.tree), "GIT_INDEX_FILE": str(checkout.index)} if checkout else {}
    )
    return {
        **inherited_variables,
        **config_variables,
        **checkout_variables,
        "GIT_CONFIG_COUNT": str(len(settings)),
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        # Other transports, such as ext::, run commands. Unlike protocol.*.allow, no configuration can extend this list.
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file",
        "GIT_ATTR_NOSYSTEM": "1",
        # Ignore replacement objects in this clone: a commit has the content and the parents that its hash says.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": "/dev/null",
    }


def is_git_directory(path: Path) -> bool:
    """Return whether a folder is itself a git directory, such as a bare repository."""
    return (
        not (path / ".git").exists()
        and (path / "HEAD").exists()
        and all((path / name).is_dir() for name in ("objects", "refs"))
    )


@lru_cache(maxsize=32)
def _read_configured_filters(repository_options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the filters that are configured on this host and for a repository, such as ``lfs``."""
    query = ["config", "--null", "--name-only", "--get-regexp", r"^filter\."]
    process = execute_git([*repository_options, *query], "config", build_hardened_environment())
    keys = process.stdout.decode(errors="replace").split("\0")  # A key is, for example, filter.NAME.smudge.
    names = {key.partition(".")[2].rpartition(".")[0] for key in keys}
    return tuple(sorted(name for name in names | {"lfs"} if name))


def execute_git(
    arguments: Sequence[str], subcommand: str, environment: Mapping[str, str], data: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run git to its end, and return the result, whatever its exit code.

    Parameters
    ----------
    subcommand
        The subcommand of git, which is named in messages and determines the time limit.
    data
        The standard input of git.

    Raises
    ------
    FaultwatchError
        git is not installed, or does not finish in time.
    """
    seconds = TRANSFER_TIMEOUT_SECONDS if subcommand in _TRANSFER_SUBCOMMANDS else LOCAL_TIMEOUT_SECONDS
    command = ["git", *arguments]
    pipe, devnull = subprocess.PIPE, subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command, env=dict(environment), stdin=pipe if data else devnull, stdout=pipe, stderr=pipe
        )
    except FileNotFoundError:
        raise FaultwatchError(*_NO_GIT) from None
    with process:
        try:
            output, error = process.communicate(data or None, seconds)
        except subprocess.TimeoutExpired:
            _end_process(process)
            raise _make_timeout_error(subcommand, seconds) from None
        except BaseException:
            _end_process(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, error)


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    """End git and its transfer processes, which would otherwise continue to wait for the other host."""
    helpers = list_descendants([process.pid])
    process.terminate()  # Do not kill it: a terminated clone removes its files.
    for helper in helpers:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(helper, signal.SIGTERM)
    try:
        process.wait(_CLEANUP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _get_subcommand(arguments: tuple[str, ...]) -> str:
    """Return the subcommand in the arguments of git, which may begin with ``-C FOLDER``."""
    words = arguments[2:] if arguments[0] == "-C" else arguments
    return words[0]
