"""Says how certain a drift is, what caused it, and which command decides about it or finds its commit."""

from typing import Any

from runner.cli.next_command import TypedTarget
from runner.contract.number_text import format_count

_DEFAULT_METRIC = "minor-faults"
"""The metric for which a bisect searches by default."""


def describe_standing(drift: dict[str, Any]) -> str:
    """Return the standing of a drift in words: proven by pairs, certain by its runs alone, or suspected."""
    evidence = drift.get("evidence", {})
    if evidence.get("pairs"):
        return f"proven in {format_count(evidence['pairs'], 'interleaved pair')}"
    if not is_suspected(drift):
        return "certain by its runs"
    n_before, n_after = evidence.get("n_before"), evidence.get("n_after")
    if n_before and n_after:
        before_text = format_count(n_before, "run")
        return f"suspected from {before_text} before and {n_after:,} after, not interleaved"
    return "suspected, not measured interleaved"


def is_suspected(drift: dict[str, Any]) -> bool:
    """Return whether a drift still has to be confirmed by further runs or by pairs."""
    return bool(drift.get("evidence", {}).get("wants_rerun"))


def describe_cause(drift: dict[str, Any], target: TypedTarget) -> list[str]:
    """Return the cause of a drift in words, and the command to run next; a single commit only if no other could be it.

    The text for a suspected drift begins with "suspected".
    """
    candidates = [candidate["commit"][:10] for candidate in drift.get("candidates", ())]
    before, after = drift["previous_revision"][:10], drift["revision"][:10]
    # If the position of the change is uncertain, the candidates are between two other runs.
    good, bad = (drift.get("last_good") or before)[:10], (drift.get("first_bad") or after)[:10]
    candidates_known = drift.get("candidates_known", True)
    suspected = is_suspected(drift)
    cause = f"suspected: {drift['cause']}" if suspected else drift["cause"]
    # The cause is not a commit.
    if drift["cause"] not in {"commit", "both"}:
        place = f"between {before} and {after}" if before != after else f"at {after}"
        lines = [f"  {cause}  {place}"]
        if suspected:
            lines.append("    runs of later commits will confirm or refute it")
        return lines
    # The cause is a single commit.
    if len(candidates) < 2 and candidates_known:
        prefix = "the only candidate is " if suspected and candidates else ""
        commit = candidates[0] if candidates else after
        lines = [f"  {cause}  {prefix}{commit} {drift['title']}".rstrip()]
        if suspected:
            command = target.suggest("compare", f"{good}..{bad}", drift["case"])
            lines.append(f"    `{command}` proves or refutes it")
        return lines
    # The cause is one of several commits.
    if candidates_known:
        candidate_text = f"one of {len(candidates)} commits, {candidates[0]}…{candidates[-1]}"
    else:
        candidate_text = f"a commit up to {bad}"
    options = () if drift["metric"] == _DEFAULT_METRIC else ("--metric", drift["metric"])
    command = target.suggest("bisect", f"{good}..{bad}", drift["case"], options)
    purpose = "proves or refutes it, and names the commit" if suspected else "names the commit"
    return [f"  {cause}  {candidate_text}", f"    `{command}` {purpose}"]
