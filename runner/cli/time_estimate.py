"""Estimates the remaining time of some work from the durations of its steps. The caller passes the time."""

from bisect import bisect_left

_MIN_STEPS_TO_HALVE = 4
"""Steps from which on the newer half of them is looked at alone: work can become slower as it goes on."""
_MIN_DELAY_FACTOR = 1.2
"""An estimate replaces the last one at once if it is shorter, and only if it is longer by this factor."""


class Pace:
    """The pace of some work, and its last estimated end.

    During a long step, such as a build, the remaining time shrinks to the duration of the later steps. It does not grow
    until the step takes longer than the steps before it.
    """

    def __init__(self, began: float) -> None:
        self._steps = [0]
        self._ended = [began]
        """When as many steps as :attr:`_steps` says had ended."""
        self._promised = float("inf")
        """The moment at which the rest was last said to end."""

    def advance(self, now: float, steps: int = 1) -> None:
        """Count steps that have just ended."""
        if steps > 0:
            self._steps.append(self._steps[-1] + steps)
            self._ended.append(now)

    def estimate_time_left(self, now: float, ahead: int) -> float:
        """Return how many seconds the steps ahead will take; 0 before a step has ended."""
        done, last = self._steps[-1], self._ended[-1]
        if not done or ahead <= 0:
            return 0.0
        step_seconds = max(self._compute_step_seconds(), (now - self._ended[0]) / (done + 1))
        seconds = step_seconds * (ahead - 1) + max(0.0, step_seconds - (now - last))
        promised = self._promised - now
        if seconds < promised or seconds > promised * _MIN_DELAY_FACTOR:
            self._promised = now + seconds
        return self._promised - now

    def _compute_step_seconds(self) -> float:
        """Return the seconds of a step: the mean of all, or of the newer half if that is longer."""
        done = self._steps[-1]
        whole = (self._ended[-1] - self._ended[0]) / done
        if done < _MIN_STEPS_TO_HALVE:
            return whole
        half = bisect_left(self._steps, done / 2)
        newer = done - self._steps[half]
        return max(whole, (self._ended[-1] - self._ended[half]) / newer) if newer else whole
