import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.gate import ForgeKind
from service.forges.qualified_names import qualify_name, split_name


@given(st.sampled_from(ForgeKind), st.from_regex(r"\A[A-Za-z0-9_ ./-]+\Z"))
def test_a_name_leads_back_to_its_forge(forge: ForgeKind, name: str) -> None:
    assert split_name(qualify_name(forge, name)) == (forge, name)


def test_the_same_name_on_two_forges_differs() -> None:
    assert len({qualify_name(forge, "o/r") for forge in ForgeKind}) == len(ForgeKind)


def test_there_is_no_other_forge() -> None:
    with pytest.raises(ValueError, match="sourcehut"):
        split_name("sourcehut:o/r")
