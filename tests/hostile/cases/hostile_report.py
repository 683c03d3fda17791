"""A holder of `report` sends texts for every reader: browsers, spreadsheets, GitHub, terminals; and compressed bodies.

A page must show the text as text, a comment as code, and the command as one harmless line.
"""

import gzip
import html
import re
import unicodedata
import zlib
from html.parser import HTMLParser

from runner.contract.profile import Frame, Touch
from runner.contract.report import Build, Case, Environment, Failure, Host, Stage
from runner.contract.report import Outcome as Result
from tests.hostile import served
from tests.hostile.arena import Arena, Outcome
from tests.hostile.served import Served
from tests.service import profiles, reports

USERS = ("root",)
ACTIVE = "</title></textarea><script>pwn(1)</script><img src=x onerror=pwn(2)><svg/onload=pwn(3)>'\" onfocus=pwn(4) "
TERMINAL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\r\n::error::pwned\n##[error]pwned\n"
BIDI = "\u202e\u2066\u200f\u200b"
TEXT = f"{ACTIVE}{TERMINAL}{BIDI}`|*@octo-org/all*[x](javascript:pwn(5))"
LONG = "x" * 900 + TEXT
FORMULA = "=cmd|'/c calc'!A0"
BIG = 100_000_000
_CONTROLS = {"Cc", "Cf", "Cs"}


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()


def attack(arena: Arena) -> Outcome:
    with served.serve(arena, arena.home) as service:
        holder = service.token("holder", "report")
        _bombs(service, holder)
        _reports(service, holder)
        _jobs(service, holder)
        environment = {"FAULTWATCH_URL": service.url, "FAULTWATCH_TOKEN": service.admin}
        shown = [arena.run(*words, environment=environment) for words in (("jobs",), ("job", "show", "1"))]
        return served.outcome(service, *shown)


def _bombs(service: Served, token: str) -> None:
    """Send compressed bodies, which would be large; the service does not decompress."""
    body = b'{"reports":[' + b" " * BIG + b"]}"
    for encoding, data in (("gzip", gzip.compress(body, 1)), ("deflate", zlib.compress(body, 1))):
        for path, who in (("/api/v1/runs", token), ("/api/v1/gates", token), ("/api/v1/runs", "wrong")):
            headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
            answer = service.send("POST", path, token=who, data=data, headers=headers)
            assert answer.status_code in {400, 401, 403, 413, 415}, (answer.status_code, answer.text[:500])
            assert len(answer.content) < 2000


def _reports(service: Served, token: str) -> None:
    case = Case(workload="copy", definition="0" * 16, parameters={"mib": TEXT, "long": LONG, "formula": FORMULA})
    environments = [Environment(settings={TEXT[:200]: TEXT, f"variable.{FORMULA}": side}) for side in (TEXT, LONG)]
    sent = [
        reports.report(
            number,
            100 if number < 6 else 160,
            revision=reports.revision(number, title=(TEXT, FORMULA, LONG)[number % 3], author=TEXT[:400]),
            case=case,
            environment=environments[number > 8],
            host=Host(name="h" * 100),
            command=("./copy", TEXT),
            build=Build(command=("make", TEXT), log=TEXT),
            remarks=(TEXT[:500],),
        )
        for number in range(1, 13)
    ]
    failure = Failure(stage=Stage.BUILD, message=TEXT[:900], log=LONG)
    sent.append(reports.report(13, case=case, failure=failure, revision=reports.revision(13, title=TEXT)))
    assert sent[-1].outcome is Result.FAILED
    for report in sent:
        service.submit(f"/runs/{report.run_id}", report.model_dump(mode="json"), "PUT", token)
    profile = profiles.profile(
        profiles.anatomy({Touch.FIRST: 1000}),
        cost=0.5,
        frames=tuple(Frame(function=f"{number}{TEXT}", file=TEXT, line=1) for number in range(len(profiles.FRAMES))),
        case=case,
    )
    service.submit(f"/profiles/{profile.profile_id}", profile.model_dump(mode="json"), "PUT", token)


def _jobs(service: Served, token: str) -> None:
    job = service.order("caller", case=f"hostile[p={TEXT}]")
    lease = service.submit(f"/jobs/{job}/claim", {"host": "box"}, token=token)["lease"]
    service.submit(f"/jobs/{job}/progress", {"lease": lease, "sentence": TEXT}, token=token)
    end = {"lease": lease, "outcome": "failed", "sentence": TEXT, "result": {"profiles": [TEXT], "x": TEXT}}
    service.submit(f"/jobs/{job}/finish", end, token=token)


class _Page(HTMLParser):
    """What a browser would do with a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.active: list[str] = []
        self.text: list[str] = []
        self._in_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        inline = tag == "script" and "src" not in given and given.get("type") != "application/json"
        wrong = any(name.startswith("on") or (value or "").startswith("javascript:") for name, value in attrs)
        if inline or wrong or tag in {"img", "style", "iframe", "object"}:
            self.active.append(self.get_starttag_text() or tag)
        self._in_data = tag == "script"
        self.text += [value for name, value in attrs if value and name in {"title", "aria-label", "alt"}]

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False

    def handle_data(self, data: str) -> None:
        if not self._in_data:
            self.text.append(data)


def held(_: Arena, outcome: Outcome) -> None:
    pages = {path: data.decode() for path, data in outcome.published.items() if data.startswith(b"<!doctype html>")}
    assert sum("pwn(1)" in text for text in pages.values()) > 10, list(pages)
    for path, source in pages.items():
        page = _Page()
        page.feed(source)
        assert not page.active, (path, page.active)
        assert not _unseen("".join(page.text)), (path, _unseen("".join(page.text)))
    for path, data in outcome.published.items():
        if ".csv" in path:
            cells = data.decode()
            assert not re.search(rf"(^|,)\"?{re.escape(FORMULA)}", cells, re.MULTILINE), path
        if path.startswith("comment"):
            assert "@octo-org" not in data.decode()
            assert "<script" not in data.decode()
            assert not _unseen(data.decode()), path
    assert "pwned" in outcome.output
    assert not _unseen(outcome.said)
    assert not [line for line in outcome.said.splitlines() if line.strip().startswith(("::", "##["))], outcome.said


def _unseen(text: str) -> set[str]:
    """Return the characters of a text that a reader does not see, but that move what he sees."""
    return {
        char for char in html.unescape(text) if unicodedata.category(char) in _CONTROLS and char not in "\n\t\u2060"
    }
