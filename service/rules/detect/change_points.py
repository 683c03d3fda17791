"""Updates the changes of the best partition as a series grows; recomputes only changes that new points can move."""

from __future__ import annotations

from bisect import bisect_left

from service.rules.detect import candidate_positions
from service.rules.detect.clipped_series import CLIP_LOOKAHEAD, ClippedSeries
from service.rules.detect.median_of_nine import Floats
from service.rules.detect.partition import Partition

PENALTY = 22.0  # squared sigma that a change must explain: about three times the logarithm of the number of runs
LAG = (
    CLIP_LOOKAHEAD + candidate_positions.POINTS_AROUND + 1
)  # points after a position that decide whether it is a candidate


class ChangePoints:
    """The positions of the changes of a growing series, in ascending order."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self._partition = Partition(PENALTY)
        self._threshold = candidate_positions.MIN_DIFFERENCE
        self._nodes: list[int] = []  # the nodes of the changes in the partition, in the order of their positions
        # The index in _nodes of each settled node; -1 if it is not in the list. Node 0 is the start of the series.
        self._rank_of_node = [-1]
        self._next_position = 1  # from here on, it is not yet decided which positions are candidates

    def update(self, clipped_series: ClippedSeries, n: int) -> int:
        """Update the positions for the first ``n`` points; return how many positions at the start are unchanged."""
        sums, squares = clipped_series.sums[: n + 1], clipped_series.squares
        first_provisional = max(1, n - LAG)
        positions = candidate_positions.find_candidates(sums, self._next_position, n, self._threshold)
        self._next_position = first_provisional
        # Candidates near the end are added only for this update: the next points may rule them out.
        n_settled = bisect_left(positions, first_provisional)
        self._add_candidates(positions[:n_settled], sums, squares)
        self._rank_of_node += [-1] * n_settled
        settled_state = self._partition.save_state()
        self._add_candidates(positions[n_settled:], sums, squares)
        n_unchanged = self._adopt_best_partition(
            self._partition.find_start_of_last_segment(n, float(sums[n]), float(squares[n]))
        )
        self._partition.restore_state(settled_state)
        return n_unchanged

    def _add_candidates(self, positions: list[int], sums: Floats, squares: Floats) -> None:
        """Add candidate positions with the running sums before them to the partition."""
        for position, total, square in zip(
            positions, sums[positions].tolist(), squares[positions].tolist(), strict=True
        ):
            self._partition.add(position, total, square)

    def _adopt_best_partition(self, node: int) -> int:
        """Take over the changes of the best partition, which ends at ``node``; return how many at the start stay.

        The partition is followed back to the latest change that the previous partition has as well: before it, both
        are the same. The rank of a node is its index among the changes; only settled nodes have one, because
        provisional nodes are removed after each update.
        """
        new_nodes = []
        n_settled_nodes = len(self._rank_of_node)
        while node and not (node < n_settled_nodes and self._rank_of_node[node] >= 0):
            new_nodes.append(node)
            node = self._partition.previous[node]
        n_unchanged = self._rank_of_node[node] + 1
        for removed_node in self._nodes[n_unchanged:]:
            if removed_node < n_settled_nodes:
                self._rank_of_node[removed_node] = -1
        del self._nodes[n_unchanged:], self.positions[n_unchanged:]
        for new_node in reversed(new_nodes):
            if new_node < n_settled_nodes:
                self._rank_of_node[new_node] = len(self._nodes)
            self._nodes.append(new_node)
            self.positions.append(self._partition.position[new_node])
        return n_unchanged
