"""The settings of the runner, and what they refuse."""

import pytest

from runner.errors import FaultwatchError
from runner.settings import load_settings


@pytest.mark.parametrize("url", ["https://faults.example.org", "http://127.0.0.1:8000/faultwatch"])
def test_an_address_is_taken_as_it_is(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_URL", url)
    assert load_settings().url == url


@pytest.mark.parametrize("url", ["faults.example.org", "https://", "user:secret@host", "http:// x"])
def test_what_is_no_address_is_refused_without_telling_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_URL", url)
    with pytest.raises(FaultwatchError) as refused:
        load_settings()
    assert "FAULTWATCH_URL" in refused.value.what
    assert url not in refused.value.what


@pytest.mark.parametrize(("text", "limit"), [("", 20), ("5", 5), ("0.5", 0.5), ("0", None)])
def test_the_limit_of_builds(text: str, limit: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_BUILDS_GIB", text)
    assert load_settings().builds_gib == limit


@pytest.mark.parametrize("text", ["-1", "ten", "1e9", "nan", "inf", "1 "])
def test_what_is_no_limit_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_BUILDS_DAYS", text)
    with pytest.raises(FaultwatchError, match="FAULTWATCH_BUILDS_DAYS"):
        load_settings()


def test_the_token_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_TOKEN", "fw_secret")
    settings = load_settings()
    assert settings.token == "fw_secret"
    assert "fw_secret" not in f"{settings!r} {settings}"
