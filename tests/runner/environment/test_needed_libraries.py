"""The libraries that a program needs, as the loader itself lists them."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.environment.needed_libraries import list_needed_libraries, resolve_dependencies
from runner.system.tree import Tree


@pytest.mark.parametrize("name", ["perf", "git", "python3", "ls", "bash"])
def test_what_the_loader_lists_is_found(name: str) -> None:
    program = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
    if program is None or not list_needed_libraries(Path(program)):
        pytest.skip(f"{name} is not here, or a script")
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    places = dict(re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE))
    found = resolve_dependencies(Tree(), list_needed_libraries(Path(program)))
    assert {name: path.resolve() for name, path in found.items() if name in places} == {
        name: Path(place).resolve() for name, place in places.items()
    }
    assert any(name.startswith("ld-") for name in found), "the loader itself"


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200])
def test_what_is_no_program_needs_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert list_needed_libraries(tmp_path / "file") == ()
    assert list_needed_libraries(tmp_path / "absent") == ()


def test_a_library_whose_name_is_too_long_for_a_file_is_one_that_this_host_lacks() -> None:
    assert resolve_dependencies(Tree(), ["x" * 256]) == {}


@given(st.integers(0, 500), st.binary(max_size=40))
def test_a_damaged_program_is_no_error(place: int, damage: bytes) -> None:
    content = Path("/bin/true").read_bytes()
    with tempfile.NamedTemporaryFile() as file:
        file.write(content[:place] + damage + content[place + len(damage) :])
        file.flush()
        list_needed_libraries(Path(file.name))
