"""Messages for incoming webhooks."""

from __future__ import annotations

from service.notify.message import compose_message
from service.notify.webhook import build_slack_body
from tests.service.notify.made_events import event

BASE = "https://faultwatch.example.org/"


def test_slack_gets_no_link_no_mention_and_no_markup_of_strangers() -> None:
    text = build_slack_body(compose_message("k", [event(title="<!channel> <https://evil.example|click> & co")], BASE))[
        "text"
    ]
    assert "<" not in text
    assert "&lt;!channel&gt;" in text
    assert "&amp; co" in text
