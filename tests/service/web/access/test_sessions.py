"""The key that signs cookies: one for all processes of a service, whenever they start and whatever is left over."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flask import Flask

from service.web.access.sessions import keep_sessions


def key(home: Path) -> bytes:
    app = Flask(__name__)
    keep_sessions(app, home)
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
