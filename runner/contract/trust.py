"""What speaks for a host or against it: a count that is known beforehand, and knobs that were declared."""

from typing import Annotated

from pydantic import Field, StringConstraints

from runner.contract.base import Name, Strict

Count = Annotated[int, Field(ge=0, le=2**64)]


class CanaryCount(Strict):
    """Page faults of memory that was touched on purpose: how many there had to be, and how many were counted."""

    kinds: tuple[Name, ...] = Field(min_length=1, max_length=20)
    """``anonymous``, ``file``, ``copy-on-write``, ``huge``: those that were counted together."""
    expected: Count
    counted: tuple[Count, ...] = Field(min_length=1, max_length=100)
    """Each try, in order. A wrong first one is tried again, twice."""

    @property
    def holds(self) -> bool:
        """Whether the first try was right, or after a wrong one all others: a rare disturbance is not a wrong host."""
        first, *others = self.counted
        return first == self.expected or (len(others) > 1 and all(count == self.expected for count in others))


class Canary(Strict):
    """The counts of the canary before a session."""

    counts: tuple[CanaryCount, ...] = Field(min_length=1, max_length=20)
    left_out: dict[Name, Annotated[str, StringConstraints(max_length=1000)]] = Field(default_factory=dict)
    """Kinds that this host cannot have, and why."""

    @property
    def holds(self) -> bool:
        """Whether every kind was counted right."""
        return all(count.holds for count in self.counts)

    @property
    def finding(self) -> str:
        """What was counted, in one line: what was wrong, or all of it."""
        told = [count for count in self.counts if not count.holds] or list(self.counts)
        return "; ".join(
            f"{', '.join(count.kinds)}: {', then '.join(f'{value:,}' for value in count.counted)} faults counted, "
            f"{count.expected:,} expected"
            for count in told
        )


class Mismatch(Strict):
    """One knob that the host was declared to have, by whatever set it up."""

    name: Annotated[str, StringConstraints(max_length=200)]
    declared: Annotated[str, StringConstraints(max_length=4000)]
    held: Annotated[str, StringConstraints(max_length=4000)] | None
    """What held during the run; None where this machine has no such knob."""
