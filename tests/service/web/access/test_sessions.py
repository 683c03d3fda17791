"""The key that signs cookies: one for all processes of a service, whenever they start and whatever is left over."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask

from service.config.settings import Config
from service.errors import ServiceError
from service.web.access.sessions import register_sessions


def key(home: Path, given: bytes | None = None) -> bytes:
    app = Flask(__name__)
    register_sessions(app, Config(home=home, database_url="sqlite://", session_key=given))
    assert isinstance(app.secret_key, bytes)
    return app.secret_key


def test_processes_that_start_at_once_share_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(key, [tmp_path] * 32))
    (one,) = keys
    assert len(one) == 32
    assert [file.name for file in tmp_path.iterdir()] == ["session.key"]
    assert (tmp_path / "session.key").stat().st_mode & 0o777 == 0o600


def test_what_a_power_cut_left_is_used_up(tmp_path: Path) -> None:
    (tmp_path / ".session.key.new").write_bytes(b"x" * 40)
    assert len(key(tmp_path)) == 32
    assert [file.name for file in tmp_path.iterdir()] == ["session.key"]


def test_machines_that_share_a_key_make_none(tmp_path: Path) -> None:
    assert key(tmp_path, b"k" * 32) == b"k" * 32
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, "k" * 31, b"\xff" * 40])
def test_a_shared_key_that_is_missing_or_short_is_refused(tmp_path: Path, content: str | bytes | None) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ServiceError, match="FAULTWATCH_SESSION_KEY_FILE"):
        Config.from_environment({"FAULTWATCH_SESSION_KEY_FILE": str(file)})


@pytest.mark.parametrize("content", [b"", b"k" * 31])
def test_an_own_key_that_was_cut_off_is_refused(tmp_path: Path, content: bytes) -> None:
    """Nobody could sign in with an empty key, and anybody could guess a short one."""
    (tmp_path / "session.key").write_bytes(content)
    with pytest.raises(ServiceError, match="session key"):
        key(tmp_path)
