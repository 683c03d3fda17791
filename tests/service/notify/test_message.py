from __future__ import annotations

from datetime import timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.config.notifications import EmailChannel
from service.notify import atom_feed
from service.notify.mail import compose_mail
from service.notify.message import MAX_EVENTS, compose_message, make_single_line
from service.schemas.history import Cause
from service.schemas.triage import EventDirection, State
from service.text.cause_text import name_candidates
from tests.service.notify.made_events import NOW, event

BASE = "https://faultwatch.example.org/"
MAIL = EmailChannel.model_validate(
    {"name": "m", "kind": "email", "sender": "f@example.org", "to": ["p@example.org"], "host": "h"}
)
ATOM = "{http://www.w3.org/2005/Atom}"
strange = st.text(max_size=300)


def test_a_message_about_one_event() -> None:
    message = compose_message("k", [event()], BASE)
    assert message.subject == "[demo] +50 minor faults (+50 %) in copy[mib=4]"
    assert message.lines == (
        "+50 minor faults (+50 %) in copy[mib=4]",
        "Cause: commit cccccccccccc “Grow the buffers” by Ada",
        "Where: 1 series of demo",
        "https://faultwatch.example.org/events/0123456789abcdef",
        "",
        "https://faultwatch.example.org/",
    )


def test_what_came_back_says_so_and_both_does_not_guess() -> None:
    message = compose_message("k", [event(state=State.REOPENED, cause=Cause.COMMIT_AND_CONFIG)], BASE)
    assert message.subject.startswith("[demo] again: ")
    assert "cross-measurement follows" in message.lines[1]


def test_an_event_that_is_certain_again_is_said_to_be_back_though_nobody_reopened_it() -> None:
    assert compose_message("k", [event()], BASE, returned_events={event().id}).subject.startswith("[demo] again: +50")
    assert compose_message("k", [event()], BASE).subject.startswith("[demo] +50")


def test_a_message_about_many_says_how_many_more() -> None:
    many = [event(f"{n:016x}") for n in range(MAX_EVENTS + 5)] + [event("f" * 16, direction=EventDirection.IMPROVEMENT)]
    message = compose_message("k", many, BASE)
    assert message.subject == "[faultwatch] 31 events: 30 worse, 1 better"
    assert "… and 6 more." in message.lines


def test_a_message_about_many_does_not_call_a_mixed_event_worse() -> None:
    mixed = event("e" * 16, direction=EventDirection.MIXED)
    better = event("f" * 16, direction=EventDirection.IMPROVEMENT)
    withdrawn = event("d" * 16, state=State.WITHDRAWN, direction=EventDirection.MIXED)
    subject = compose_message("k", [event(), mixed, better, withdrawn], BASE).subject
    assert subject == "[faultwatch] 4 events: 1 worse, 1 mixed, 1 better, 1 withdrawn"


@given(strange)
def test_strangers_text_stays_on_its_line(text: str) -> None:
    line = make_single_line(text)
    assert len(line) <= 200
    assert line.isprintable() or all(sign.isprintable() or sign == " " or ord(sign) > 0xA0 for sign in line)
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize("sign", "\u061c\u200e\u200f\u202a\u202e\u2066\u2069")
def test_strangers_text_does_not_turn_the_direction_of_writing(sign: str) -> None:
    assert make_single_line(f"a{sign}b") == "a b"


@given(strange, strange)
def test_strangers_text_makes_no_header_of_a_mail(title: str, author: str) -> None:
    message = compose_message("k", [event(title=title, author=author, headline=title or "x")], BASE)
    message = compose_mail(message, MAIL, NOW)
    assert set(message.keys()) == {
        "Subject",
        "From",
        "To",
        "Date",
        "Message-ID",
        "Auto-Submitted",
        "Content-Type",
        "Content-Transfer-Encoding",
        "MIME-Version",
    }
    assert message.as_bytes()


@given(strange, strange)
def test_the_feed_is_what_rfc_4287_asks_for_whatever_strangers_write(title: str, author: str) -> None:
    told = [event(title=title, author=author), event("f" * 16, changed_at=NOW + timedelta(days=1), silenced=True)]
    root = ElementTree.fromstring(atom_feed.build_feed(told, BASE, "/feeds/events.atom"))
    assert root.tag == f"{ATOM}feed"
    assert root.findtext(f"{ATOM}updated") == "2025-06-02T12:00:00Z"
    assert [link.get("href") for link in root.findall(f"{ATOM}link") if link.get("rel") == "self"] == [
        "https://faultwatch.example.org/feeds/events.atom"
    ]
    for part in (root, *root.findall(f"{ATOM}entry")):
        for required in ("id", "title", "updated"):
            assert len(part.findall(ATOM + required)) == 1
            assert part.findtext(ATOM + required)
        assert str(part.findtext(f"{ATOM}id")).startswith("urn:uuid:")
    entries = root.findall(f"{ATOM}entry")
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 2
    assert all(entry.findtext(f"{ATOM}author/{ATOM}name") for entry in entries)
    assert all(entry.find(f"{ATOM}link") is not None and entry.find(f"{ATOM}summary") is not None for entry in entries)


def test_a_feed_without_events() -> None:
    assert ElementTree.fromstring(atom_feed.build_feed([], BASE, "/feeds/events.atom")).find(f"{ATOM}entry") is None


def test_a_range_of_commits_names_nobody() -> None:
    commits = "one of 19 commits, 7f4906f565…cc2b66c856"
    several = event(n_candidates=19, blamed=commits, title="Fix a typo", author="Ada")
    assert (several.title, several.author, several.certainty) == ("", "", "range")
    mail = "\n".join(compose_message("k", [several], BASE).lines)
    atom = atom_feed.build_feed([several], BASE, "/events.atom").decode()
    for text in (mail, atom):
        assert commits in text
        assert "Ada" not in text
        assert "Fix a typo" not in text


def test_what_is_not_a_fact_yet_says_so_wherever_it_names_a_cause() -> None:
    doubtful = event(confirmed=False, blamed=name_candidates(["c" * 40], "Grow the buffers", confirmed=False))
    mail = compose_message("k", [doubtful], BASE)
    assert mail.subject == "[demo] suspected: +50 minor faults (+50 %) in copy[mib=4]"
    assert "Cause: suspected: the only candidate is Grow the buffers" in mail.lines
    atom = atom_feed.build_feed([doubtful], BASE, "/events.atom").decode()
    assert "Cause: suspected: the only candidate is Grow the buffers." in atom
    assert (doubtful.title, doubtful.author) == ("", "")
    for text in ("\n".join(mail.lines), atom):
        assert "Ada" not in text
    setting = event(confirmed=False, cause=Cause.CONFIG, n_candidates=0, blamed="")
    assert "Cause: suspected: configuration" in compose_message("k", [setting], BASE).lines
