"""Whatever a file holds, it is imported or refused in one clear line."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import FaultwatchError
from runner.importing import FORMATS, ImportDefaults, make_reports
from runner.importing.registry import find_format, read_source
from runner.importing.source import Source
from tests.fuzz.mutation import mutated_json, mutated_text
from tests.runner.importing.recorded import AT, DATA, FILES, GIVEN


def attempt(text: str, defaults: ImportDefaults) -> None:
    source = Source(
        text, "file", AT, read_neighbour={"benchmark.json": '{"group_id": "g"}', "../benchmarks.json": text}.get
    )
    form = find_format(source, defaults)
    if form is None:
        return
    try:
        made = make_reports(read_source(form, source, defaults), defaults)
    except FaultwatchError as error:
        refused = str(error).splitlines()
    else:
        refused = [""]
        assert all(report.runner_version == "imported" for report in made)
    assert len(refused) == 1


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_recorded_file_with_changes(name: str, seed: int) -> None:
    text = (DATA / FILES[name]).read_text()
    rng = Random(seed)
    if name == "go":
        attempt(mutated_text(text, rng), GIVEN)
    else:
        changed = mutated_json(json.loads(text), rng).decode(errors="replace")
        attempt(changed, GIVEN)
        attempt(changed, ImportDefaults(subject="s", this_host="h", format=name, started_at=AT))


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.sampled_from(["benchmarks", "context", "results", "name", "value", "unit"]), children)
    ),
    max_leaves=10,
)


@settings(max_examples=40, deadline=None)
@given(document=_JSON, form=st.sampled_from(["", *FORMATS]))
def test_any_json_in_any_format(document: object, form: str) -> None:
    attempt(json.dumps(document), ImportDefaults(subject="s", this_host="h", revision="v", case="c", format=form))


def test_a_small_file_that_describes_a_huge_matrix_takes_no_memory() -> None:
    document = json.loads((DATA / FILES["asv"]).read_text())
    values = [str(number) for number in range(1000)]
    document["results"]["bench_parse.track_words"] = [[1.0], [values] * 50]
    with pytest.raises(FaultwatchError, match="does not match the parameters"):
        source = Source(json.dumps(document), "file", AT)
        form = find_format(source, GIVEN)
        assert form is not None
        read_source(form, source, GIVEN)
