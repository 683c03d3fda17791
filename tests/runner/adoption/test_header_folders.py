from pathlib import Path

import pytest

from runner.adoption import header_folders
from runner.adoption.header_folders import add_header_folder
from runner.adoption.proposal import BuildProposal

MAKE = BuildProposal("Make", "make")
LOG = "x.c:1:10: fatal error: {}: No such file or directory\n"


def test_a_header_in_a_folder_of_its_own_is_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header_folders, "_SYSTEM_HEADERS", tmp_path)
    for folder in ("lua5.3", "lua5.4", "other"):
        (tmp_path / folder).mkdir()
    for file in ("lua5.3/lua.h", "lua5.4/lua.h", "plain.h"):
        (tmp_path / file).touch()
    searching = add_header_folder(MAKE, LOG.format("lua.h"))
    assert searching
    assert searching.environment == {"CPATH": f"{tmp_path}/lua5.4"}
    assert add_header_folder(searching, LOG.format("lua.h")) is None, "that did not help"
    assert add_header_folder(MAKE, LOG.format("plain.h")) is None, "it is searched anyway"
    assert add_header_folder(MAKE, "x.c:3:1: error: no type\n") is None
