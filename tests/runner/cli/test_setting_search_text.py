"""What a search for settings says."""

from runner.campaigns.setting_difference import Difference
from runner.cli.setting_search_text import describe_result
from runner.contract.setting_search import FoundSettings, SettingChange, SettingSearch


def test_levels_are_written_as_everywhere() -> None:
    settings = tuple(SettingChange(name=f"variable.{name}", before="1", after=None) for name in ("A", "B"))
    without = {"variable.A": 605.25, "variable.B": 2_700.0}
    answer = FoundSettings(settings=("variable.A", "variable.B"), before=605.25, after=2_662.5, values_without=without)
    assert describe_result(
        SettingSearch(stored_runs=4, answer=answer), Difference(settings, {}, ()), "minor-faults"
    ) == [
        "minor-faults: 605 faults → 2,662.5 faults, caused by:",
        "  variable.A: 1 → not set; without it 605 faults",
        "  variable.B: 1 → not set; without it 2,700 faults",
    ]
