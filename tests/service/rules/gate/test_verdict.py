"""The verdict of a gate, and what it names first."""

from __future__ import annotations

from service.rules.gate.verdict import judge_gate
from tests.service.forges import made_gates


def test_a_change_from_zero_is_named_before_smaller_ones() -> None:
    small = made_gates.case([100] * 30, [101] * 30, mib=4)
    from_zero = made_gates.case([0] * 30, [10240] * 30, mib=8)
    names = [row.case for row in judge_gate(made_gates.gate(small, from_zero)).list_changed_metrics()]
    assert names == ["copy_service[mib=8]", "copy_service[mib=4]"]
