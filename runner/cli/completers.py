"""Completes words in a shell: workloads, cases, revisions, folders.

These functions are called while the user types, so they read and import little, and offer nothing after an error.
"""

import subprocess
from pathlib import Path

import click
from click.shell_completion import CompletionItem

_TIMEOUT_SECONDS = 2.0
_MAX_COMPLETIONS = 200


def complete_workload(_context: click.Context, _parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Offer files, and the shipped workloads by name."""
    shipped = Path(__file__).resolve().parents[2] / "workloads"
    names = sorted(file.parent.name for file in shipped.glob("*/workload.toml"))
    # The item for files has to be the first one: click's Bash script drops the words before such an item.
    return [CompletionItem(word, type="file"), *(CompletionItem(name) for name in names if name.startswith(word))]


def complete_workload_or_range(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Offer workloads and revisions, for the first argument of a command with a RANGE."""
    return [
        *complete_workload(context, parameter, word),
        *(complete_revision(context, parameter, word) if word else ()),
    ]


def complete_folder(_context: click.Context, _parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Offer folders."""
    return [CompletionItem(word, type="dir")]


def complete_revision(context: click.Context, _parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Offer the branches and tags of the repository; after ``A..``, offer them for the end of the range."""
    range_start, separator, range_end = word.rpartition("..")
    arguments = ["git", "-C", str(context.params.get("repo") or "."), "for-each-ref", "--format=%(refname:short)"]
    try:
        result = subprocess.run(arguments, capture_output=True, check=True, text=True, timeout=_TIMEOUT_SECONDS)
    except (OSError, ValueError, subprocess.SubprocessError):  # ValueError: the output cannot be decoded
        return []
    names = [name for name in ("HEAD", *result.stdout.split()) if name.startswith(range_end)]
    return [CompletionItem(f"{range_start}{separator}{name}") for name in names[:_MAX_COMPLETIONS]]


def complete_case(context: click.Context, _parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Offer the cases of the workload that the command line names."""
    from runner.errors import FaultwatchError
    from runner.workload import list_cases
    from runner.workload.workload_lookup import find_workload

    workload_name = context.params.get("workload_name") or context.params.get("repo") or "."
    try:
        names = [case.name for case in list_cases(find_workload(str(workload_name)))]
    except (FaultwatchError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(word)][:_MAX_COMPLETIONS]
