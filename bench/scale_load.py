"""A busy hour: hosts send the runs of a nightly run, pages are open everywhere, and a forge tells of many pushes."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from html import unescape
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from bench import scale_store
from bench.report import show_steps
from bench.scale_data import NOISY, Scale
from bench.store_data import make_revision, report_head, report_text
from bench.store_service import Service, cpu_seconds, post_json, query_number, wait_for_zero
from tests.service import postgres
from tests.service.forges.gitlab import stand_in
from tests.service.forges.served import running

CELLS_AN_HOUR = 100_000
HOSTS = 200
PAGES_OPEN = 100
WEBHOOKS = 500
_SUBJECTS = 4
_MACHINES = 2
_COMMITS = 5
"""Commits that are stored before."""
_MOVED = 100
_STORM_SECONDS = 10.0
_SENDERS = 20
"""Connections of the forge."""
_SECRET = "a secret of the bench"
_PATIENCE = 120.0
_PAGES = ("/", "/matrix?subject=subject-0", "/events", "/runs", "/jobs", "/hosts")
_POLL = re.compile(r'hx-get="(/live[^"]*)" hx-trigger="load delay:(\d+)ms')


def serve_busy_hour(seconds: float) -> dict[str, Any]:
    """Serve the busy hour for this many seconds.

    Returns
    -------
    dict
        The figures: runs acknowledged and lost, requests refused for a moment and those that failed, the milliseconds
        of each kind of request (half of them, 95 %, all), and the seconds after which everything was done.
    """
    with ExitStack() as stack:
        server = stack.enter_context(postgres.running())
        url = server.url(server.create())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="faultwatch-bench-")))
        lab = stand_in.GitLab(head="a" * 40)
        stack.enter_context(running(lab, stand_in.app(lab)))
        os.environ.update(_forge(folder, lab))
        services = [Service(folder / f"home-{place}", url=url) for place in range(_MACHINES)]
        for service in services:
            stack.callback(service.stop)
        cells = round(seconds * CELLS_AN_HOUR / 3600 / HOSTS)
        stored = _store_earlier(services[0], cells)
        scale_store.wait_until_judged(url)
        traffic = _Traffic(services, seconds, cells)
        cpu = [_sum_cpu_seconds(services), cpu_seconds(server.process)]
        traffic.run()
        spent = [_sum_cpu_seconds(services) - cpu[0], cpu_seconds(server.process) - cpu[1]]
        started_at = time.monotonic()
        waiting = "SELECT count(*) FROM github_delivery WHERE due_at IS NOT NULL"
        left = wait_for_zero(url, waiting, "webhooks", _PATIENCE)
        handled = time.monotonic() - started_at
        scale_store.wait_until_judged(url)
        with psycopg.connect(url, autocommit=True) as connection:
            runs = query_number(connection, "SELECT count(*) FROM run")
            taken = query_number(connection, "SELECT count(*) FROM github_delivery")
        return {
            "runs acknowledged": traffic.acknowledged,
            "runs lost or doubled": runs - stored - traffic.acknowledged,
            "webhooks lost": WEBHOOKS - taken + left,
            "refused for a moment": traffic.refused,
            "failed": dict(traffic.failed),
            "milliseconds: half, 95 %, all": {
                kind: _compute_quantiles(times) for kind, times in sorted(traffic.times.items())
            },
            "seconds until webhooks were handled": round(handled, 1),
            "seconds until all was judged": round(time.monotonic() - started_at, 1),
            "processors busy, service and database": [round(one / traffic.seconds, 2) for one in spent],
        }


class _Traffic:
    """Everybody who speaks to the services, each in a thread."""

    def __init__(self, services: Sequence[Service], seconds: float, cells: int) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.failed: Counter[str] = Counter()
        self.acknowledged = self.refused = 0
        self.seconds = seconds
        self._services = services
        self._cells = cells
        self._lock = threading.Lock()
        self._over = threading.Event()

    def run(self) -> None:
        """Run all clients until the time is over and all runs are sent."""
        started_at = time.monotonic()
        hosts = [threading.Thread(target=self._act_as_host, args=(place,)) for place in range(HOSTS)]
        others = [threading.Thread(target=self._act_as_reader, args=(place,)) for place in range(PAGES_OPEN)]
        others += [threading.Thread(target=self._forge, args=(place,)) for place in range(_SENDERS)]
        for thread in (*hosts, *others):
            thread.start()
        for thread in show_steps(hosts, "hosts have sent all their runs"):
            thread.join()
        self._over.set()
        for thread in others:
            thread.join()
        self.seconds = time.monotonic() - started_at

    def _act_as_host(self, place: int) -> None:
        pause = self.seconds / self._cells
        wait = Random(place).uniform(0, pause)
        with closing(self._services[place % _MACHINES].connect()) as connection:
            for body in _generate_runs_of_host(place, self._cells, _COMMITS, _MOVED):
                time.sleep(wait)
                started_at = time.monotonic()
                while not self._is_stored(connection, body):
                    pass
                wait = max(0.0, pause - (time.monotonic() - started_at))

    def _is_stored(self, connection: HTTPConnection, body: bytes) -> bool:
        headers = {"Content-Type": "application/json"}
        answer, _ = self._time_request(
            "send a run", connection, partial(_send_request, "POST", "/api/v1/runs", body, headers)
        )
        if answer.status == 503 and answer.headers["Retry-After"]:
            with self._lock:
                self.refused += 1
            time.sleep(float(answer.headers["Retry-After"]))
            return False
        self._note_failure("send a run", answer)
        with self._lock:
            self.acknowledged += answer.status < 300
        return True

    def _act_as_reader(self, place: int) -> None:
        path = _PAGES[place % len(_PAGES)]
        time.sleep(Random(place).uniform(0, self.seconds / 10))  # people do not come all at once
        with closing(self._services[place % _MACHINES].connect()) as connection:
            poll = _POLL.search(self._open_page(connection, path))
            while poll is not None and not self._over.wait(int(poll[2]) / 1000):
                request = partial(_send_request, "GET", unescape(poll[1]), b"", {})
                answer, told = self._time_request("ask for news", connection, request)
                self._note_failure("ask for news", answer)
                poll = _POLL.search(told)
                if answer.headers["HX-Trigger"]:
                    self._open_page(connection, path)

    def _open_page(self, connection: HTTPConnection, path: str) -> str:
        answer, told = self._time_request("open a page", connection, partial(_send_request, "GET", path, b"", {}))
        self._note_failure("open a page", answer)
        return told

    def _forge(self, place: int) -> None:
        if self._over.wait(self.seconds / 2):
            return
        with closing(self._services[place % _MACHINES].connect()) as connection:
            for delivery in range(place, WEBHOOKS, _SENDERS):
                body, headers = _build_webhook(delivery)
                request = partial(_send_request, "POST", "/gitlab/webhook", body, headers)
                answer, _ = self._time_request("deliver a webhook", connection, request)
                self._note_failure("deliver a webhook", answer)
                time.sleep(_STORM_SECONDS * _SENDERS / WEBHOOKS)

    def _time_request(
        self, kind: str, connection: HTTPConnection, request: Callable[[HTTPConnection], tuple[HTTPResponse, str]]
    ) -> tuple[HTTPResponse, str]:
        started_at = time.monotonic()
        try:
            answered = request(connection)
        except ConnectionError:  # the service ends one that was idle for long
            connection.close()
            answered = request(connection)
        with self._lock:
            self.times[kind].append(time.monotonic() - started_at)
        return answered

    def _note_failure(self, kind: str, answer: HTTPResponse) -> None:
        if answer.status >= 300:
            with self._lock:
                self.failed[f"{kind}: {answer.status}"] += 1


def _send_request(
    method: str, path: str, body: bytes, headers: dict[str, str], connection: HTTPConnection
) -> tuple[HTTPResponse, str]:
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def _forge(folder: Path, lab: stand_in.GitLab) -> dict[str, str]:
    """Return the settings of a service that a forge tells of pushes."""
    token, secret = folder / "token", folder / "secret"
    token.write_text(lab.token)
    secret.write_text(_SECRET)
    for file in (token, secret):
        file.chmod(0o600)
    return {
        "FAULTWATCH_GITLAB_URL": lab.url,
        "FAULTWATCH_GITLAB_TOKEN_FILE": str(token),
        "FAULTWATCH_GITLAB_SECRET_FILE": str(secret),
    }


def _build_webhook(delivery: int) -> tuple[bytes, dict[str, str]]:
    attributes = {"iid": 7, "action": "update", "oldrev": f"{delivery:040x}", "last_commit": {"id": "a" * 40}}
    payload = {"object_attributes": attributes, "project": {"path_with_namespace": "group/sub/copies"}}
    headers = {"X-Gitlab-Event": "Merge Request Hook", "X-Gitlab-Token": _SECRET, "X-Gitlab-Event-UUID": str(delivery)}
    return json.dumps(payload).encode(), headers | {"Content-Type": "application/json"}


def _store_earlier(service: Service, cells: int) -> int:
    """Store some commits of all cells; return how many runs there are."""
    with closing(service.connect()) as connection:
        for commit in show_steps(range(_COMMITS), "commits stored"):
            for place in range(HOSTS):
                runs = [json.loads(body)["reports"][0] for body in _generate_runs_of_host(place, cells, commit)]
                post_json(connection, "/api/v1/runs", json.dumps({"reports": runs}).encode())
    return _COMMITS * HOSTS * cells


def _generate_runs_of_host(place: int, cells: int, commit: int, moved: int = 0) -> Iterator[bytes]:
    """Return a body of a request for each case that a host measures at a commit: the same cases on each host."""
    data = Scale(f"subject-{place % _SUBJECTS}", HOSTS * cells)
    head = report_head(data.subject, {"judging": {"judge": NOISY}, "host": {"name": f"host-{place}"}})
    told = make_revision(commit, data.subject).model_dump_json()
    for case in range(place * cells, (place + 1) * cells):
        report = report_text(head, told, case, commit, data.samples(case, commit, moved), data.subject)
        report = report.replace(f'"number":{case}', f'"number":{case - place * cells}')  # its id stays its own
        yield f'{{"reports":[{report}]}}'.encode()


def _sum_cpu_seconds(services: Sequence[Service]) -> float:
    return sum(service.cpu_seconds() for service in services)


def _compute_quantiles(times: Sequence[float]) -> list[int]:
    ordered = sorted(times)
    return [round(1000 * ordered[int(share * (len(ordered) - 1))]) for share in (0.5, 0.95, 1)]
