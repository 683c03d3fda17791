"""kill -9 of the whole service at random moments while runs are sent: what was acknowledged is there once."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPException
from itertools import chain
from pathlib import Path

from bench import store_data
from bench.store_data import Size
from bench.store_service import Service, post_json

_BATCH = 5
_CASES = 5
_LONGEST_SECONDS = 0.25
"""The service is killed within this time after its first answer."""


def kill_often(folder: Path, kills: int, progress: Callable[[str], None]) -> dict[str, int | str]:
    """Return what became of the runs that were sent: lost and doubled ones, and whether the database is sound.

    What was acknowledged is noted in the folder at once: a bench that was stopped goes on there, up to this many kills.
    """
    folder.mkdir(parents=True, exist_ok=True)
    noted = folder / "acknowledged.jsonl"
    rounds = [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []
    moments = random.Random()
    acknowledged = {run_id for one in rounds for run_id in one["runs"]}
    commit = rounds[-1]["next"] if rounds else 0
    unsure: list[bytes] = []
    for kill in range(len(rounds), kills):
        service = Service(folder)
        bodies = chain(unsure, (body for _, body in store_data.generate_batches(Size(_CASES, 1000), _BATCH, commit)))
        unsure, told, started = [], [], threading.Event()

        def kill_service(service: Service = service, started: threading.Event = started) -> None:
            started.wait()
            time.sleep(moments.uniform(0, _LONGEST_SECONDS))
            service.kill()

        killer = threading.Thread(target=kill_service)
        killer.start()
        with closing(service.connect()) as connection:
            for body in bodies:
                try:
                    post_json(connection, "/api/v1/runs", body)
                except (OSError, HTTPException):
                    unsure = [body]  # as a runner does: what nobody acknowledged is sent again
                    break
                told += _list_run_ids(body)
                commit = max(commit, _commit_of(body) + 1)
                started.set()
        started.set()
        killer.join()
        commit += 1
        acknowledged.update(told)
        with noted.open("a") as stream:
            stream.write(json.dumps({"runs": told, "next": commit}) + "\n")
        progress(f"{kill + 1} of {kills} kills, {len(acknowledged):,} runs acknowledged")
    service = Service(folder)  # what was half done is put right by opening it
    with closing(service.connect()) as connection:
        for body in unsure:
            post_json(connection, "/api/v1/runs", body)
            acknowledged.update(_list_run_ids(body))
    service.stop()
    return {"kills": kills, "acknowledged": len(acknowledged)} | _count_stored_rows(service.database, acknowledged)


def _list_run_ids(body: bytes) -> list[str]:
    return [report["run_id"] for report in json.loads(body)["reports"]]


def _commit_of(body: bytes) -> int:
    return int(json.loads(body)["reports"][-1]["revision"]["commit"], 16) - 1


def _count_stored_rows(file: Path, acknowledged: set[str]) -> dict[str, int | str]:
    wanted = {run_id.replace("-", "") for run_id in acknowledged}
    with closing(sqlite3.connect(file)) as connection:
        stored = [run_id for (run_id,) in connection.execute("SELECT id FROM run")]
        points = "SELECT count(*) FROM run WHERE (SELECT count(*) FROM point WHERE run_number = number) <> ?"
        incomplete = f"{points} OR NOT EXISTS (SELECT 1 FROM report WHERE run_number = number)"
        (halved,) = connection.execute(incomplete, [len(store_data.METRICS)]).fetchone()
        (wrong,) = connection.execute(
            "SELECT count(*) FROM series WHERE n_points <> (SELECT count(*) FROM point WHERE series_id = series.id)"
        ).fetchone()
        (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
        references = len(connection.execute("PRAGMA foreign_key_check").fetchall())
    return {
        "lost": len(wanted - set(stored)),
        "doubled": len(stored) - len(set(stored)),
        "incomplete": halved + wrong + references,
        "integrity": sound,
    }
