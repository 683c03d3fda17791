"""Narrows an event down to the commits that a bisect has proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.contract.commit_search import Culprit, ProofState
from service.schemas.history import Candidate
from service.text.cause_text import name_candidates, name_culprits


@dataclass(frozen=True, slots=True)
class BisectResult:
    """The result of a bisect.

    Attributes
    ----------
    only_builds
        Whether there is no culprit because builds of the same commits differ as much as the commits do.
    """

    job: int
    culprits: tuple[Culprit, ...]
    only_builds: bool = False

    @property
    def proven(self) -> bool:
        """Whether there are culprits, and a proof confirmed each of them."""
        proofs = [culprit.proof for culprit in self.culprits]
        return bool(proofs) and all(proof is not None and proof.state is ProofState.STANDS for proof in proofs)


def narrow_event(document: Mapping[str, Any], result: BisectResult | None) -> dict[str, Any]:
    """Return the description of an event with the result of a bisect: proven culprits, or that only builds differ.

    Culprits that are not among the candidates of the event explain another change, so they are ignored.

    Parameters
    ----------
    document
        The result of :func:`service.rules.events.headline.summarise_drifts`.
    """
    summary = dict(document)
    candidates = {entry["commit"]: Candidate.model_validate(entry) for entry in document.get("candidates", ())}
    if result is not None and result.only_builds:
        return summary | {"only_builds": result.job}
    if result is None or not result.proven:
        return summary
    commits = list(dict.fromkeys(commit for culprit in result.culprits for commit in culprit.candidates))
    if not set(commits) <= candidates.keys():
        return summary
    culprits = [candidates[commit] for commit in commits]
    return summary | {
        "blamed": _name_culprits(result.culprits, culprits),
        "culprits": [culprit.model_dump(mode="json") for culprit in culprits],
        "bisect": result.job,
    }


def _name_culprits(culprits: Sequence[Culprit], candidates: Sequence[Candidate]) -> str:
    """Return the culprits as the headline names them, or the commits that measurements cannot distinguish."""
    if len(culprits) == 1:
        return name_candidates([entry.commit for entry in candidates], candidates[-1].title)
    return name_culprits([culprit.commit for culprit in culprits])
