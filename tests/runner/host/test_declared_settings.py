"""What was declared, beside what holds."""

import json
from pathlib import Path

import pytest

from runner.contract.declared_settings import Mismatch
from runner.contract.report import Environment
from runner.host.declared_settings import DECLARATION_VARIABLE, Declaration, load_declaration

HELD = Environment(settings={"vm.swappiness": "60", "thp.enabled": "madvise", "kernel.release": "6.1"})


def test_what_does_not_hold_is_a_mismatch_and_what_nobody_declared_is_free() -> None:
    declared = Declaration({"vm.swappiness": "1", "thp.enabled": "madvise", "ksm.run": "0"})
    assert declared.list_mismatches(HELD) == (
        Mismatch(name="ksm.run", declared="0", actual=None),
        Mismatch(name="vm.swappiness", declared="1", actual="60"),
    )


def test_what_env_prints_is_a_declaration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hash": HELD.hash, "settings": HELD.settings}))
    monkeypatch.setenv(DECLARATION_VARIABLE, str(file))
    assert load_declaration() == Declaration(HELD.settings)
    assert load_declaration().list_mismatches(HELD) == ()


def test_without_a_file_nothing_is_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DECLARATION_VARIABLE, raising=False)
    assert load_declaration(tmp_path / "missing.json") == Declaration()


def test_a_file_that_was_named_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DECLARATION_VARIABLE, str(tmp_path / "missing.json"))
    assert "missing.json, which does not exist" in load_declaration().problem


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "7", '{"settings": []}', '{"settings": {"vm.swappiness": 1}}', "\udcff", "[" * 200_000]
)
def test_a_file_that_declares_nothing_is_told(text: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    found = load_declaration(file)
    assert (found.settings, str(file) in found.problem) == ({}, True)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert "cannot be read" in load_declaration(tmp_path).problem
