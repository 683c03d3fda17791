"""What a profile says fits into the contract."""

import os

from pydantic import TypeAdapter

from runner.contract.base import Line
from runner.profile.labels import cut_remarks


def test_a_remark_about_a_file_whose_name_is_not_text_fits_into_a_profile() -> None:
    name = os.fsdecode(b"caf\xe9")
    remarks = cut_remarks([f"{name} is a Go program", f"{name * 1_000} has no names"])
    assert remarks[0] == r"caf\udce9 is a Go program"
    assert TypeAdapter(tuple[Line, ...]).validate_python(remarks) == remarks
