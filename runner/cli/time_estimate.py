"""Estimates the remaining time of some work from the durations of its steps. The caller passes the current time."""

from bisect import bisect_left

_MIN_STEPS_TO_HALVE = 4
"""With at least this many steps, only the newer half counts if it is slower, because work can become slower."""
_MIN_DELAY_FACTOR = 1.2
"""A shorter estimate replaces the last one at once; a longer one only if it is longer by this factor."""


class Pace:
    """The pace of some work, and its last estimated end.

    During a long step, such as a build, the remaining time shrinks until only the duration of the later steps is left.
    It grows only once the step takes longer than the steps before it.
    """

    def __init__(self, started_at: float) -> None:
        self._step_counts = [0]
        """The number of finished steps at each of :attr:`_step_times`."""
        self._step_times = [started_at]
        """The times at which these numbers of steps had finished."""
        self._estimated_end = float("inf")
        """The end of all steps, according to the last estimate."""

    def advance(self, now: float, n_steps: int = 1) -> None:
        """Count steps that have just ended."""
        if n_steps > 0:
            self._step_counts.append(self._step_counts[-1] + n_steps)
            self._step_times.append(now)

    def estimate_time_left(self, now: float, remaining_steps: int) -> float:
        """Return how many seconds the remaining steps will take; 0 before a step has ended."""
        finished_steps, last_step_time = self._step_counts[-1], self._step_times[-1]
        if not finished_steps or remaining_steps <= 0:
            return 0.0
        # The current step counts as if it ended now, so that the pace slows down during a long one.
        mean_seconds_with_present_step = (now - self._step_times[0]) / (finished_steps + 1)
        step_seconds = max(self._compute_step_seconds(), mean_seconds_with_present_step)
        rest_of_present_step = max(0.0, step_seconds - (now - last_step_time))
        seconds_left = step_seconds * (remaining_steps - 1) + rest_of_present_step
        # Keep the last estimated end unless it has become earlier, or much later.
        last_seconds_left = self._estimated_end - now
        if seconds_left < last_seconds_left or seconds_left > last_seconds_left * _MIN_DELAY_FACTOR:
            self._estimated_end = now + seconds_left
        return self._estimated_end - now

    def _compute_step_seconds(self) -> float:
        """Return the mean duration of a step in seconds: of all steps, or of the newer half if that is longer."""
        finished_steps = self._step_counts[-1]
        mean_seconds = (self._step_times[-1] - self._step_times[0]) / finished_steps
        if finished_steps < _MIN_STEPS_TO_HALVE:
            return mean_seconds
        half_index = bisect_left(self._step_counts, finished_steps / 2)
        newer_steps = finished_steps - self._step_counts[half_index]
        if not newer_steps:  # the last call of advance() counted more than half of all steps
            return mean_seconds
        newer_mean_seconds = (self._step_times[-1] - self._step_times[half_index]) / newer_steps
        return max(mean_seconds, newer_mean_seconds)
