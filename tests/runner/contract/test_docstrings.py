from enum import StrEnum

from pydantic import BaseModel

from runner.contract.docstrings import collect_field_docstrings, describe_enum


class _Base(BaseModel):
    """A base."""

    first: int = 0
    """Counts the first,
    on two lines: :class:`Base`."""


class _Model(_Base):
    """A model.

    Attributes
    ----------
    third, fourth
        Both of them.
    """

    second: int
    third: int
    fourth: int = 1
    """Only this one."""


class _Colour(StrEnum):
    """A colour."""

    RED = "red"
    """Hot."""
    BLUE = "blue"


def test_fields_of_a_class_and_of_its_bases() -> None:
    assert collect_field_docstrings(_Model) == {
        "first": "Counts the first, on two lines: `Base`.",
        "third": "Both of them.",
        "fourth": "Only this one.",
    }


def test_an_enum_lists_its_values() -> None:
    assert describe_enum(_Colour) == "A colour.\n\n- `red`: Hot."
