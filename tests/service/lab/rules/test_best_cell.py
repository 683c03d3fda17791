"""The best cell is named with its price, and only if it is surely the best."""

from __future__ import annotations

from service.lab.rules.best_cell import choose_best_cell
from service.lab.rules.compare_cell import Readings, compare_metric
from service.lab.schemas import CellState, LabCell

DEFAULT = {"minor-faults": [1000] * 24, "max-rss": [4 << 20] * 24, "throughput": [100.0 + n / 100 for n in range(24)]}


def cell(key: str, faults: list[int], *, factor: float = 1.0, interleaved: bool = True, **changes: object) -> LabCell:
    own = {"minor-faults": faults, "max-rss": [8 << 20] * 24, "throughput": [v * factor for v in DEFAULT["throughput"]]}
    metrics = tuple(
        compare_metric(name, Readings(DEFAULT[name]), Readings(values), interleaved=interleaved)
        for name, values in own.items()
    )
    told = {"key": key, "values": {"a": key}, "text": key, "default": False, "state": CellState.MEASURED}
    return LabCell(**(told | {"metrics": metrics} | changes))  # type: ignore[arg-type]


def test_the_best_cell_has_the_fewest_faults_and_a_price() -> None:
    found = choose_best_cell([cell("jemalloc", [900] * 24), cell("mimalloc", [400] * 24, factor=0.5)])
    assert found.key == "mimalloc"
    text = found.sentence.replace("\xa0", " ").replace("\u202f", " ")
    assert text.startswith("Best: mimalloc, 600 faults fewer than the default (−60 %). Price: memory +100 %")
    assert "throughput −50 %, between −50 % and −50 %" in text


def test_what_it_wins_besides_is_named_apart_from_its_price() -> None:
    text = choose_best_cell([cell("a", [400] * 24, factor=2)]).sentence
    assert "Also better: throughput +100" in text


def test_no_cell_is_better_where_none_surely_has_fewer_faults() -> None:
    worse, same = cell("worse", [1200] * 24), cell("same", [1000] * 24)
    assert choose_best_cell([worse, same]).key is None
    assert choose_best_cell([worse, same]).sentence.startswith("No cell is certain to have fewer page faults")


def test_of_two_that_do_not_differ_none_is_the_best() -> None:
    found = choose_best_cell([cell("a", [400] * 24), cell("b", [410] * 24), cell("c", [700] * 24)])
    assert found.key is None
    assert found.sentence.startswith(
        "No single cell is certain to be the best. 2 cells may have the fewest page faults: a; b"
    )


def test_one_outlier_does_not_hide_the_best() -> None:
    repeating = choose_best_cell([cell("a", [100] * 23 + [5000]), cell("b", [200] * 24)])
    assert repeating.key == "a"
    assert repeating.sentence.startswith("Best: a, ")
    assert choose_best_cell([cell("a", [100] * 23 + [5000]), cell("b", [200, 210] * 12)]).key == "a"


def test_overlapping_counts_have_no_best() -> None:
    wide = [400, *range(401, 424)]
    found = choose_best_cell([cell("a", wide), cell("b", [value + 10 for value in wide])])
    assert found.key is None
    assert "2 cells may have the fewest page faults" in found.sentence


def test_cells_that_are_missing_or_undecided_are_counted() -> None:
    empty = cell("empty", [1], state=CellState.EMPTY, metrics=())
    unsure = cell("unsure", [995] * 24, interleaved=False)
    found = choose_best_cell([cell("a", [400] * 24), empty, unsure])
    assert found.key == "a"
    assert found.sentence.endswith("Of 3 other cells, 1 has not been measured and 1 is undecided.")
    assert choose_best_cell([empty]).sentence.startswith("No comparison with the default has been decided yet.")


def test_a_cell_that_is_measured_again_keeps_its_result_meanwhile() -> None:
    again = cell("a", [400] * 24, state=CellState.ORDERED)
    unsure = cell("unsure", [995] * 24, interleaved=False, state=CellState.ORDERED)
    found = choose_best_cell([again, unsure])
    assert found.key == "a"
    assert found.sentence.endswith("Of 2 other cells, 1 is undecided.")


def test_it_minds_a_parameter_that_changes_the_work() -> None:
    found = choose_best_cell([cell("a", [4] * 24)], other_work="mib")
    assert "what the program does depends on mib" in found.sentence
