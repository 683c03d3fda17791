"""The service as it should not be: away, out of its mind, or in a hurry."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from urllib3.util.retry import Retry

from runner.contract.nightly import NightlyPart
from runner.errors import FaultwatchError, RequestRefused, ServerError
from runner.reporting import service_retries
from runner.reporting.client import Service
from runner.reporting.embedded_service import connect_to_service
from runner.settings import load_settings
from tests.runner.http_stub import Answer, HttpStub, http_stub
from tests.runner.sample_reports import report


@pytest.fixture
def answering() -> Iterator[HttpStub]:
    with http_stub() as made:
        yield made


def test_a_service_that_fails_for_a_moment_is_asked_again(answering: HttpStub) -> None:
    answering.next = [Answer(503), Answer(500), Answer(429, headers={"Retry-After": "1"})]
    one = report()
    Service(answering.url).send_report(one)
    assert answering.stored == [str(one.run_id)]


def test_a_service_that_asks_for_a_day_is_not_waited_for(answering: HttpStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_retries, "MAX_WAIT_SECONDS", 0.5)
    answering.next = [Answer(429, headers={"Retry-After": "86400"})]
    start = time.monotonic()
    Service(answering.url).send_report(report())
    assert 0.4 < time.monotonic() - start < 60


@pytest.mark.parametrize("retry_after", ["soon", "-3", "\xff"])
def test_a_retry_after_that_cannot_be_read_is_passed_over(retry_after: str, answering: HttpStub) -> None:
    answering.next = [Answer(429, headers={"Retry-After": retry_after})]
    Service(answering.url).send_report(report())
    assert len(answering.stored) == 1


@pytest.mark.parametrize("status", [400, 409, 413, 422])
def test_what_is_wrong_with_a_report_is_a_refusal_at_once(status: int, answering: HttpStub) -> None:
    answering.always = Answer(status, '{"title": "No", "detail": "samples.0: wrong"}')
    with pytest.raises(RequestRefused, match=r"samples\.0: wrong"):
        Service(answering.url).send_report(report())
    assert answering.requests == 1


@pytest.fixture
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a service be asked again at once."""
    monkeypatch.setattr(Retry, "get_backoff_time", lambda _: 0.0)


@pytest.mark.usefixtures("without_pauses")
@pytest.mark.parametrize("status", [401, 403, 404, 502])
def test_what_is_wrong_with_the_caller_or_the_way_is_no_refusal_of_the_report(status: int, answering: HttpStub) -> None:
    answering.always = Answer(status, "<html>")
    with pytest.raises(FaultwatchError) as caught:
        Service(answering.url).send_report(report())
    assert not isinstance(caught.value, RequestRefused | ServerError)


@pytest.mark.usefixtures("without_pauses")
def test_a_service_that_stumbles_is_told_apart(answering: HttpStub) -> None:
    answering.always = Answer(500)
    with pytest.raises(ServerError, match="the log of the service says why"):
        Service(answering.url).send_report(report())


@pytest.mark.parametrize(
    "body", ["", "<html>Welcome to the guest network</html>", "{}", "[]", '{"run_id": "0", "created": true}', "\0"]
)
def test_only_a_receipt_for_this_run_is_a_receipt(body: str, answering: HttpStub) -> None:
    answering.always = Answer(200, body)
    with pytest.raises(FaultwatchError, match="does not look like a Faultwatch service"):
        Service(answering.url).send_report(report())


@pytest.mark.usefixtures("without_pauses")
@pytest.mark.parametrize("url", ["http://me:s3cr:et@127.0.0.1:1", "http://me:s3cr@et@127.0.0.1:1"])
def test_no_message_tells_the_password_in_the_address(url: str, answering: HttpStub) -> None:
    with pytest.raises(FaultwatchError) as away:
        Service(url).send_report(report())
    answering.always = Answer(200)
    with pytest.raises(FaultwatchError) as garbage:
        Service(answering.url.replace("//", "//me:s3cret@")).send_report(report())
    answering.always = Answer(404)
    with pytest.raises(FaultwatchError) as refused:
        Service(answering.url.replace("//", "//me:s3cret@")).send_report(report())
    for caught in (away, garbage, refused):
        assert "127.0.0.1" in str(caught.value)
        assert "s3cr" not in str(caught.value)
        assert "et@" not in str(caught.value)


@pytest.mark.usefixtures("without_pauses")
def test_an_address_with_half_a_bracket_belongs_to_no_service() -> None:
    with pytest.raises(FaultwatchError, match=r"the service at http://\[::1 does not answer"):
        Service("http://[::1").send_report(report())


def test_a_token_is_shown_to_the_service_and_to_nobody_else(
    answering: HttpStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("fw_1_secret\n")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("FAULTWATCH_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("FAULTWATCH_URL", answering.url)
    settings = load_settings()
    with connect_to_service(settings) as service:
        service.send_report(report())
        assert answering.headers[-1]["Authorization"] == "Bearer fw_1_secret"
        answering.always = Answer(401, '{"title": "No", "detail": "Send a token"}')
        with pytest.raises(FaultwatchError) as refused:
            service.send_report(report())
    assert "secret" not in f"{settings!r} {refused.value.what} {refused.value.remedy}"


def test_what_cannot_be_a_token_is_refused_and_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_TOKEN", "fw_1_secret\nHost: elsewhere")
    with pytest.raises(FaultwatchError, match="FAULTWATCH_TOKEN does not contain a valid token") as refused:
        load_settings()
    assert "secret" not in str(refused.value)


def test_a_proxy_of_the_environment_is_not_asked_for_a_service_on_this_machine(
    answering: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    one = report()
    Service(answering.url).send_report(one)
    assert answering.stored == [str(one.run_id)]


def test_a_list_that_takes_several_pages_is_whole(answering: HttpStub) -> None:
    """A long history has more drifts than a page holds."""
    drifts = [{"id": str(number)} for number in range(1002)]
    answering.next = [
        Answer(200, json.dumps({"items": drifts[:1000]})),
        Answer(200, json.dumps({"items": drifts[1000:]})),
    ]
    assert Service(answering.url).list_drifts(subject="lua") == drifts
    assert [parse_qs(urlsplit(path).query)["offset"] for path in answering.paths] == [["0"], ["1000"]]


@pytest.mark.parametrize("body", ["[]", "null", "7", '"text"', '{"items": 7}', '{"items": [7]}', "{"])
def test_json_of_another_shape_is_not_the_answer_of_a_service(body: str, answering: HttpStub) -> None:
    answering.always = Answer(200, body)
    service = Service(answering.url)
    for ask in (
        lambda: service.get_job(1),
        service.list_drifts,
        service.list_jobs,
        lambda: service.get_run("1"),
        lambda: service.update_nightly_run("tonight", NightlyPart(cells=())),
        lambda: service.send_report(report()),
        lambda: service.sign_in("identity"),
    ):
        with pytest.raises(FaultwatchError, match="does not look like a Faultwatch service"):
            ask()
