from __future__ import annotations

from datetime import time
from pathlib import Path

import pytest

from service.config.notifications import FILE, VARIABLE, EmailChannel, WebhookChannel, load_notification_settings
from service.errors import ServiceError

GOOD = """
url = "https://faultwatch.example.org"

[[channel]]
name = "team"
kind = "email"
sender = "faultwatch@example.org"
to = ["perf@example.org"]
host = "smtp.example.org"
user = "faultwatch"
password_variable = "SMTP_PASSWORD"
quiet = { from = "22:00", to = 07:00:00 }
zone = "Europe/Berlin"

[[channel]]
name = "chat"
kind = "webhook"
url_variable = "WEBHOOK"
only = "regressions"
digest = "08:30"
"""
WEBHOOK = '[[channel]]\nname = "chat"\nkind = "webhook"\n'
EMAIL = '[[channel]]\nname = "m"\nkind = "email"\nsender = "a@example.org"\nto = ["b@example.org"]\nhost = "mail"\n'


def read(home: Path, text: str) -> object:
    (home / FILE).write_text(text, encoding="utf-8")
    return load_notification_settings(home)


def test_a_file_with_two_channels(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(GOOD)
    settings = load_notification_settings(tmp_path, tmp_path / "other.toml")
    team, chat = settings.channel
    assert isinstance(team, EmailChannel)
    assert isinstance(chat, WebhookChannel)
    assert team.quiet is not None
    assert (team.quiet.start, team.quiet.end, team.security) == (time(22), time(7), "starttls")
    assert chat.digest == time(8, 30)


def test_without_a_file_there_are_no_channels_but_one_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    assert load_notification_settings(tmp_path).channel == ()
    with pytest.raises(ServiceError, match=VARIABLE):
        load_notification_settings(tmp_path, tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[channel", "not TOML"),
        (f"channel = {'[' * 5000}", "not TOML"),
        (f"channel = {'1' * 5000}", "not TOML"),
        (f"channel{'.a' * 5000} = 1", "channel"),
        ('colour = "red"', "colour"),
        (WEBHOOK, "set either `url` or `url_variable`"),
        (WEBHOOK + 'url = "http://chat.example.org/x"', "insecure = true"),
        (WEBHOOK + 'url = "ftp://chat.example.org/x"', "https://"),
        (WEBHOOK + 'url = "https://"', "https://"),
        (WEBHOOK + 'url_variable = "X"\nzone = "Europe/Nowhere"', "Europe/Nowhere"),
        (WEBHOOK + 'url_variable = "X"\nzone = "../../etc/passwd"', "time zone"),
        (WEBHOOK + 'url_variable = "X"\nquiet = { from = "07:00", to = "07:00" }', "same time"),
        (WEBHOOK + 'url_variable = "X"\ndigest = "25:00"', "digest"),
        (WEBHOOK + 'url_variable = "X"\ndigest = "08:30+02:00"', "digest: .*without a zone"),
        (WEBHOOK + 'url_variable = "X"\ndigest = 830', "digest: .*a time of day"),
        (WEBHOOK + 'url_variable = "X"\nquiet = { from = "22:00Z", to = "07:00" }', "quiet.from: .*without a zone"),
        (2 * (WEBHOOK + 'url_variable = "X"\n'), "same name"),
        (WEBHOOK.replace("webhook", "chat"), "channel.0: .*set either `url` or `url_variable`"),
        (WEBHOOK.replace("webhook", "chat") + 'url = "mmost://chat.example.org/x"', "use mmosts"),
        (EMAIL + 'user = "me"', "must be set together"),
        (EMAIL + 'user = "me"\npassword_variable = "P"\nsecurity = "none"', "unencrypted"),
        (EMAIL.replace("b@example.org", "b@example.org\\nBcc: c@example.org"), "to"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ServiceError, match=said) as raised:
        read(tmp_path, text)
    assert "\n" not in str(raised.value)
    assert str(tmp_path) in str(raised.value)


def test_plain_http_is_for_loopback_or_where_it_is_wanted(tmp_path: Path) -> None:
    read(tmp_path, WEBHOOK + 'url = "http://localhost:9/x"')
    read(tmp_path, WEBHOOK + 'url = "http://chat.example.org/x"\ninsecure = true')
