"""The links of a comment: to the comparison, the log and the two commits, and the commands that it may offer."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from runner.contract.gate import ForgeKind, GateReport
from runner.contract.number_text import format_count
from service.rules.environment_name import name_environment
from service.rules.gate.verdict import CaseOutcome, GateOutcome
from service.text.markdown import format_code

_COMMIT_PATHS = {ForgeKind.GITLAB: "/-/commit/"}
"""The path of a commit's page, below the repository, on forges that do not use ``/commit/``."""
_SHORT_HASH_DIGITS = 10
"""The number of digits of a commit's hash that are shown."""
_MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of further details, each empty if there is none, and the commands that a comment may offer."""

    compare: str = ""
    log: str = ""
    definitions: str = ""
    """The address of this service's page about page faults."""
    commits: str = ""
    """The prefix of a commit's address on the forge, to which its hash is appended."""
    offers_bisect: bool = False
    """Whether to offer the command that bisects a case."""
    reads_comments: bool = False
    """Whether a service reads comments, so that a comment can accept the change."""
    needs_merge: bool = False
    """Whether only a merge can accept the change, because the gate is a CI job without a service."""


def build_links(
    address: str, report: GateReport, *, reads_comments: bool = True, needs_merge: bool = False, log_url: str = ""
) -> Links:
    """Return the links of a comment.

    Parameters
    ----------
    address
        The address of this service; empty if it has none.
    reads_comments
        Whether the service reads comments.
    needs_merge
        Whether the gate is a CI job without a service, so that only a merge can accept the change.
    log_url
        The address of the log; empty for the address in the report.
    """
    query = urlencode({"base": report.base, "head": report.head})
    log = log_url or report.log_url
    compare = f"{address}/compare?{query}" if address else ""
    definitions = f"{address}/definitions" if address else ""
    return Links(
        compare=compare,
        log=log,
        definitions=definitions,
        commits=_find_commit_address_prefix(report, log),
        reads_comments=reads_comments,
        needs_merge=needs_merge,
    )


def format_last_line(outcome: GateOutcome, links: Links) -> str:
    """Return the last line of the comment: links to details, the two commits, the host and its settings."""
    definitions = links.definitions if has_counts(outcome) else ""
    addresses = (("Compare", links.compare), ("Log", links.log), ("What is a page fault?", definitions))
    parts = [f"[{name}]({url})" for name, url in addresses if url]
    base, head = _format_commit(outcome.base, links), _format_commit(outcome.head, links)
    parts += [f"{base} → {head}", *_describe_host_and_settings(outcome.cases)]
    return f"{' · '.join(parts)}\n"


def has_counts(outcome: GateOutcome) -> bool:
    """Return whether the comment shows counts of page faults, which it then has to explain."""
    return any(row.is_count for row in outcome.metrics)


def _find_commit_address_prefix(report: GateReport, log: str) -> str:
    """Return the address prefix of commits on the forge, derived from the address of the log; empty if impossible.

    The log of a CI job has an address below that of the repository.
    """
    server, separator, _ = log.partition(f"/{report.repository}/")
    return f"{server}/{report.repository}{_COMMIT_PATHS.get(report.forge, '/commit/')}" if separator else ""


def _format_commit(commit: str, links: Links) -> str:
    short_hash = commit[:_SHORT_HASH_DIGITS]
    return f"[{short_hash}]({links.commits}{commit})" if links.commits else short_hash


def _describe_host_and_settings(cases: tuple[CaseOutcome, ...]) -> list[str]:
    """Return the host and the environment of the first measured case, each with the number of others, as phrases."""
    measured_heads = [case.case.head for case in cases if case.comparison is not None]
    if not measured_heads:
        return []
    hosts = list(dict.fromkeys(head.host.name for head in measured_heads))
    environment_names = list(dict.fromkeys(name_environment(head.environment.settings) for head in measured_heads))
    further_hosts = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
    parts = [f"host {format_code(hosts[0])}{further_hosts}"]
    if environment_names[0]:  # Imported runs may have no settings that name their environment.
        environment_part = format_code(environment_names[0], _MAX_NAME_CHARACTERS)
        n_others = len(environment_names) - 1
        if n_others:
            environment_part += f", and {format_count(n_others, 'other environment')}"
        parts.append(environment_part)
    return parts
