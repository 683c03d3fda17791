"""``faultwatch-service`` as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from service.__main__ import main
from service.schemas.audit import AuditAction
from service.store.engine.database import Database
from service.store.models import AuditRow


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["faultwatch-service", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("words", [(), ("token",)])
def test_a_command_alone_shows_what_there_is_to_choose_from(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *words, "--help") == 0
    help_text = capsys.readouterr().out
    assert run(monkeypatch, *words) == 2
    assert capsys.readouterr().err == help_text


def test_no_tokens_are_said_to_be_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    assert run(monkeypatch, "token", "list") == 0
    assert capsys.readouterr().out == "There are no tokens.\n"


def test_a_token_that_is_revoked_twice_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    assert run(monkeypatch, "token", "new", "ci", "--scope", "read") == 0
    capsys.readouterr()
    assert run(monkeypatch, "token", "list") == 0
    token_id = next(line.split()[0] for line in capsys.readouterr().out.splitlines() if "ci" in line.split())
    for _ in range(2):
        assert run(monkeypatch, "token", "revoke", token_id) == 0
    with Database(f"sqlite:///{tmp_path}/faultwatch.db").reading() as session:
        actions = [row.action for row in session.scalars(select(AuditRow))]
    assert actions.count(AuditAction.TOKEN_REVOKED) == 1
