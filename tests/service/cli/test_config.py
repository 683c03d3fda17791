"""``faultwatch-service config``: the values in use, and where each comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.__main__ import cli
from service.config.notifications import load_notification_settings
from service.errors import ServiceError
from service.forges.registry import read_config


def shown(monkeypatch: pytest.MonkeyPatch, home: Path, **variables: str) -> dict[str, tuple[str, str]]:
    for name, value in ({"FAULTWATCH_HOME": str(home)} | variables).items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(cli, ["config", "--json"], catch_exceptions=False)
    settings = [setting for group in json.loads(done.output) for setting in group["settings"]]
    return {setting["variable"] or setting["name"]: (setting["value"], setting["source"]) for setting in settings}


def test_each_value_has_its_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "notifications.toml").write_text(
        '[[channel]]\nname = "chat"\nkind = "webhook"\nurl = "https://chat.example.org/s3cret"\n'
        '[[channel]]\nname = "team"\nkind = "chat"\nurl = "pover://user@s3cretToken"\n'
        '[[channel]]\nname = "room"\nkind = "chat"\nurl_variable = "ROOM"\n'
        '[[channel]]\nname = "list"\nkind = "webhook"\nurl = "https://lists.example.org/"\n'
        'digest = "08:30"\ndigest_day = "friday"\n'
    )
    values = shown(monkeypatch, tmp_path, FAULTWATCH_WORKERS="3", DATABASE_URL="postgresql://me:s3cret@db/faults")
    assert values["FAULTWATCH_WORKERS"] == ("3", "environment")
    assert values["FAULTWATCH_LEASE_SECONDS"] == ("90 s", "default")
    assert values["chat"] == ("at chat.example.org", str(tmp_path / "notifications.toml"))
    assert values["team"] == ("through Pushover", str(tmp_path / "notifications.toml"))
    assert values["room"][0].startswith("at a secret address")
    assert values["list"][0] == "at lists.example.org; one message a week, on Friday at 08:30 UTC"
    assert values["DATABASE_URL"] == ("postgresql://me:***@db/faults", "environment")
    assert "s3cret" not in CliRunner().invoke(cli, ["config"]).output


def test_the_list_for_people(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    monkeypatch.delenv("FAULTWATCH_PORT", raising=False)
    lines = CliRunner().invoke(cli, ["config"], catch_exceptions=False).output.splitlines()
    assert any(line.split() == ["FAULTWATCH_PORT", "8080", "(default)"] for line in lines)
    assert "  No job may sign in: FAULTWATCH_ACTIONS_REPOSITORIES is not set." in lines


def test_a_file_of_channels_that_cannot_be_read_is_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "notifications.toml").write_text("[[channel")
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    assert "The file is not TOML" in CliRunner().invoke(cli, ["config"]).output


@pytest.mark.parametrize(
    ("name", "value", "valid"),
    [
        ("FAULTWATCH_PORT", "65536", "a number, 0 to 65535"),
        ("FAULTWATCH_WORKERS", "0", "1 to 64"),
        ("FAULTWATCH_LEASE_SECONDS", "soon", "a number of seconds"),
        ("FAULTWATCH_LEASE_SECONDS", "9" * 30, "a number of seconds"),
        ("FAULTWATCH_HOME", "~nobody-here/data", "a valid value"),
        ("FAULTWATCH_ACCESS", "closed", "open or tokens"),
        ("FAULTWATCH_JOBS_HERE", "true", "yes or no"),
        ("FAULTWATCH_GITHUB_APP", "my app", "a number"),
        ("FAULTWATCH_ADDRESS", "foo", "https://HOST"),
        ("FAULTWATCH_ADDRESS", "https://faults.example.org:x", "https://HOST"),
        ("FAULTWATCH_ADDRESS", "https://faults.example.org\r", "https://HOST"),
        ("FAULTWATCH_ADDRESS", "https://faults.example.org/a b", "https://HOST"),
        ("FAULTWATCH_PROXIES", "127.0.0.1, foo", "IP addresses"),
    ],
)
def test_a_value_that_is_not_valid_is_refused_with_its_name(name: str, value: str, valid: str) -> None:
    with pytest.raises(ServiceError) as refused:
        read_config({name: value})
    assert f"{name}={value}" in str(refused.value)
    assert valid in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_of_a_user_who_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="FAULTWATCH_SESSION_KEY_FILE: there is no such user"):
        read_config({"FAULTWATCH_SESSION_KEY_FILE": "~nobody-here/key"})
    with pytest.raises(ServiceError, match="there is no such user"):
        load_notification_settings(tmp_path, Path("~nobody-here/notifications.toml"))


@pytest.mark.parametrize("name", ["FAULTWATCH_ADDRESS", "FAULTWATCH_GITLAB_URL"])
def test_an_address_with_a_password_is_refused_without_showing_it(name: str) -> None:
    with pytest.raises(ServiceError, match=name) as refused:
        read_config({name: "https://me:s3cret@faults.example.org"})
    assert "s3cret" not in str(refused.value)


def test_the_addresses_of_proxies_are_written_as_requests_have_them() -> None:
    proxies = read_config({"FAULTWATCH_PROXIES": "192.0.2.1 2001:DB8:0::1 ::ffff:192.0.2.2"}).proxies
    assert proxies == ("192.0.2.1", "2001:db8::1", "192.0.2.2")


def test_an_empty_variable_is_not_set_and_case_matters() -> None:
    assert read_config({"FAULTWATCH_PORT": "", "faultwatch_workers": "9", "workers": "9"}) == read_config({})
