"""Prints the progress of proofs and their verdicts."""

from runner.cli.activity import Activity, format_time_spent
from runner.cli.terminal import print_message
from runner.contract.comparison import Verdict
from runner.contract.number_text import format_count
from runner.contract.report import Case

_VERDICT_TEXTS = {
    Verdict.CHANGED: "proven: {pairs} differ",
    Verdict.SAME: "refuted: {pairs} do not differ",
    Verdict.NEEDS_MORE_RUNS: "still undecided after {pairs}",
}


class ProofProgress:
    """A :class:`runner.campaigns.proving.ProofObserver` that shows the proofs as an activity."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._case = ""

    def on_proof_start(self, base: str, head: str, case: Case, seconds_left: float) -> None:
        """Show which commits are compared, and the remaining time for proofs."""
        self._case = case.name
        self._activity(
            f"proving the change of {case.name} in {base[:10]}..{head[:10]}; "
            f"up to {format_time_spent(seconds_left)} left for all proofs"
        )

    def on_execution(self) -> None:
        """Count an execution."""
        self._activity.advance()

    def on_proof(self, base: str, head: str, verdict: Verdict, n_pairs: int) -> None:
        """Print the verdict."""
        verdict_text = _VERDICT_TEXTS[verdict].format(pairs=format_count(n_pairs, "interleaved pair"))
        print_message(f"  {base[:10]}..{head[:10]} {self._case} {verdict_text}")

    def on_failed_proof(self, base: str, head: str, reason: str) -> None:
        """Print why two commits could not be compared."""
        print_message(f"  {base[:10]}..{head[:10]} {self._case} not compared: {reason}")
