"""The canary: a known number of page faults, which shows whether a host counts correctly."""

from typing import Annotated

from pydantic import Field

from runner.contract.base import Line, Name, Strict
from runner.contract.number_text import choose_unit

Count = Annotated[int, Field(ge=0, le=2**64)]


class CanaryCount(Strict):
    """Page faults of memory that the canary touched: the expected and the counted numbers."""

    kinds: tuple[Name, ...] = Field(min_length=1, max_length=20)
    """The kinds that were counted together: ``anonymous``, ``file``, ``copy-on-write``, ``huge``."""
    expected: Count
    counted: tuple[Count, ...] = Field(min_length=1, max_length=100)
    """The count of each attempt, in order. After a wrong first attempt there are two more."""

    @property
    def holds(self) -> bool:
        """Whether the first attempt was right, or all later ones: a rare disturbance does not disqualify a host."""
        first, *retries = self.counted
        return first == self.expected or (len(retries) > 1 and all(count == self.expected for count in retries))


class Canary(Strict):
    """The counts of the canary before a session."""

    counts: tuple[CanaryCount, ...] = Field(min_length=1, max_length=20)
    left_out: dict[Name, Line] = Field(default_factory=dict)
    """Kinds of memory that this host lacks, with the reasons."""
    seconds_per_fault: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """CPU time of the first touch of an anonymous page; None if the time was not measured."""

    @property
    def holds(self) -> bool:
        """Whether every kind was counted correctly."""
        return all(count.holds for count in self.counts)

    @property
    def finding(self) -> str:
        """The wrong counts in one line, or all counts if none is wrong."""
        wrong_counts = [count for count in self.counts if not count.holds]
        parts = []
        for count in wrong_counts or self.counts:
            attempts = ", then ".join(f"{value:,}" for value in count.counted)
            faults = choose_unit(count.counted[-1], "faults")
            parts.append(f"{', '.join(count.kinds)}: {attempts} {faults} counted, {count.expected:,} expected")
        return "; ".join(parts)
