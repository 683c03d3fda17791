import uuid
from pathlib import Path

from flask.testing import FlaskClient

from runner.contract import Canary, CanaryCount, Failure
from runner.contract.report import Reading, Stage, Window
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import extreme_reports, history
from tests.service.web.application import application
from tests.service.web.text import page, read

EXTREME = f"/runs/{extreme_reports.run_id(extreme_reports.MAIN, 4)}"


def test_every_number_has_its_unit_and_definition(extremes: FlaskClient) -> None:
    text = read(extremes, EXTREME)
    assert "Minor faults ? Page faults that the kernel resolved" in text
    assert "18,623 faults all the same 3" in text
    assert "40.2 ms 39.2 – 41.2 ms 3" in text
    assert "291 faults/operation" in text


def test_what_has_no_value_says_why_in_words(extremes: FlaskClient) -> None:
    text = read(extremes, EXTREME)
    assert "no value none 0 not supported: no hardware counter in this virtual machine" in text
    assert "no value none 0 not counted" in text
    assert "multiplexed, an estimate from 48.2 % of the run" in text
    assert "not supported not supported not supported" in text


def test_what_a_run_was_measured_without_is_told(extremes: FlaskClient) -> None:
    source, text = (show(extremes, EXTREME) for show in (page, read))
    assert "Measured with caveats the stack limit cannot be set: " + extreme_reports.HOSTILE in text
    assert "<img" not in source


def test_a_run_shows_perfs_output_its_build_and_its_environment(client: FlaskClient) -> None:
    text = read(client, f"/runs/{history.run_id(history.ANCHOR, again=True)}")
    assert "21624;;minor-faults" in text
    assert "$ make copyserve cc -O2 copyd.c" in text
    assert "took 1.25 s" in text
    assert "variable.MALLOC_CONF dirty_decay_ms:0" in text
    assert "./copyserve --mib 8 --operations 25" in text


def test_a_build_of_an_earlier_command_shows_how_long_it_took_and_its_log(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        report = history.report(0, history.OLD)
        assert report.build
        history.send(client, [report.model_copy(update={"build": report.build.model_copy(update={"cached": True})})])
        text = read(client, f"/runs/{report.run_id}")
        assert "took 1.25 s, done by an earlier command" in text
        assert "cc -O2 copyd.c" in text


def test_a_run_leads_to_its_series_and_its_pyperf_file(client: FlaskClient) -> None:
    source = page(client, f"/runs/{history.run_id(0)}")
    assert 'href="/series/1"' in source
    address = f"/api/v1/runs/{history.run_id(0)}/pyperf"
    assert address in source
    assert client.get(address).status_code == 200


def test_a_measurement_that_failed_is_named_as_one_on_every_page(tmp_path: Path) -> None:
    broken = history.report(history.BROKEN, history.NEW)
    failure = Failure(stage=Stage.MEASURE, message="perf printed nothing")
    with application(tmp_path) as app:
        client = app.test_client()
        history.send(client, [history.report(0, history.NEW), broken.model_copy(update={"failure": failure})])
        for address in ("/", "/runs", f"/runs/{broken.run_id}", "/series/1", "/matrix"):
            text = read(client, address)
            assert "easurement failed" in text, address
            assert "easure failed" not in text, address
        assert "measurement failed: perf printed nothing" in page(client, "/series/1")
        assert "measurement failed: perf printed nothing" in page(client, "/matrix")


def test_a_run_that_failed_shows_stage_message_and_log(client: FlaskClient) -> None:
    source, text = (show(client, f"/runs/{history.run_id(history.BROKEN, again=True)}") for show in (page, read))
    assert "Build failed" in text
    assert "make ended with status 2" in text
    assert "copyd.c:41: " + history.HOSTILE in text
    assert "pyperf" not in text
    assert "<img" not in source


def test_an_unknown_run_is_a_page_that_says_so(client: FlaskClient) -> None:
    assert "There is no such run" in read(client, f"/runs/{uuid.uuid4()}", 404)


def test_a_run_of_a_server_shows_its_windows(tmp_path: Path) -> None:
    def window(faults: int, *, is_warm_up: bool = False) -> Window:
        readings = {"minor-faults": Reading(value=faults), "throughput": Reading(value=5000.0)}
        return Window(is_warm_up=is_warm_up, readings=readings, operations=1000, resident=1 << 20)

    windows = (window(2000, is_warm_up=True), window(1400), window(1400))
    with application(tmp_path) as app:
        client = app.test_client()
        report = history.report(0, history.OLD)
        samples = tuple(sample.model_copy(update={"windows": windows}) for sample in report.samples)
        history.send(client, [report.model_copy(update={"samples": samples})])
        text = read(client, f"/runs/{report.run_id}")
        assert "Still 1.4 faults per operation after 3 windows" in text
        assert "1 warm-up 2 2,000 faults" in text
        assert "2 1.4 1,400 faults 5,000 operations/s" in text


def test_an_experimental_run_of_a_host_that_counts_incorrectly_is_in_quarantine(tmp_path: Path) -> None:
    canary = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1010, 1009, 1010)),))
    run = reports.report(1, 100, canary=canary, experimental=True)
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(run)
        text = read(client, f"/runs/{run.run_id}")
    assert "In quarantine These numbers are stored, but not judged: this host counted incorrectly" in text
    assert "it was this host" not in text


def test_the_output_of_perf_has_the_number_of_its_sample(tmp_path: Path) -> None:
    run = reports.report(1, 100, 100)
    outputs = ("", "100;;minor-faults:u")
    samples = (
        sample.model_copy(update={"perf_output": output}) for sample, output in zip(run.samples, outputs, strict=True)
    )
    run = run.model_copy(update={"samples": tuple(samples)})
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(run)
        text = read(client, f"/runs/{run.run_id}")
    assert "Output of perf, sample 2 100;;minor-faults:u" in text
    assert "Output of perf, sample 1" not in text


def test_a_run_of_a_revision_without_an_author_says_so(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        report = history.report(0, history.OLD)
        revision = report.revision.model_copy(update={"author": ""})
        history.send(client, [report.model_copy(update={"revision": revision})])
        text = read(client, f"/runs/{report.run_id}")
        assert "author unknown" in text
        assert "by unknown" not in text
