"""The primary of two PostgreSQL servers is killed under load, and the standby promoted; then the other way round."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
import requests

from tests.operations import load, receiver
from tests.operations.documented import scripts
from tests.operations.machine import PATIENCE, Machine, serving
from tests.service import postgres

MAKE_STANDBY, SYNCHRONOUS, PROMOTE = 0, 1, 2
"""The blocks of the document."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def document() -> list[str]:
    return scripts("docs/how-to/scale.md", __file__)


def follow(primary: postgres.Server, port: int, data: Path) -> None:
    """Make the folder of a standby."""
    primary.shell(document()[MAKE_STANDBY], PGDATA=data, PRIMARY=f"host=127.0.0.1 port={port} user=tests")


def fail_over(
    machines: list[Machine], senders: list[load.Sender], primary: postgres.Server, standby: postgres.Server
) -> float:
    """Kill the primary, look at what the service answers, promote the standby; return the seconds until all can send.

    The standby is promoted as soon as that was looked at.
    """
    began = time.monotonic()
    primary.kill()
    for machine in machines:
        for page in ("/api/v1/health", "/runs"):
            answer = requests.get(f"{machine.address}{page}", timeout=PATIENCE)
            assert load.told(answer) == "503 later", answer.text
    standby.shell(document()[PROMOTE])
    for sender in senders:
        sender.await_more(2 * load.CASES)  # the first of them can have been under way
    return time.monotonic() - began


def test_a_failover_loses_and_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = free_port(), free_port()
    listening = [("listen_addresses=127.0.0.1", f"port={port}") for port in ports]
    homes = [tmp_path / "one", tmp_path / "other"]
    for home in homes:
        home.mkdir()
        (home / "notifications.toml").write_text(receiver.SETTINGS)
    with (
        receiver.receiving() as (address, received),
        postgres.running(listening[0]) as first,
        postgres.copied(lambda data: follow(first, ports[0], data), listening[1]) as second,
    ):
        monkeypatch.setenv(receiver.ADDRESS, address)
        first.shell(document()[SYNCHRONOUS])
        name = first.create()
        servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        url = f"postgresql://tests@{servers}/{name}?target_session_attrs=read-write"
        with serving(homes[0], url) as one, serving(homes[1], url) as other:
            machines = [one, other]
            receiver.await_channel(url)
            with load.sending(machines) as senders, load.reading(machines) as reader:
                for sender in senders:
                    sender.await_more(50)
                took = [fail_over(machines, senders, first, second)]
                for sender in senders:
                    sender.await_more(50)
                # The old primary follows the new one, and takes its place again.
                with postgres.copied(lambda data: follow(second, ports[1], data), listening[0]) as third:
                    second.shell(document()[SYNCHRONOUS])
                    for sender in senders:
                        sender.await_more(50)
                    took.append(fail_over(machines, senders, second, third))
                    for sender in senders:
                        sender.await_more(50)
                        sender.finish()
                    reader.finish()
                    load.settle(url)
                    told = receiver.await_all(url)
                    assert load.look(url) == load.sound(sum(sender.acknowledged for sender in senders))
                    for sender in senders:
                        found, expected = load.steps(url, sender)
                        assert found == expected
                        assert set(sender.answers) <= {"503 later"}
                    assert set(reader.answers) == {"503 later"}
                    assert told, "steps were told"
                    assert told == set(received), "each message was sent, and none of a step that is not stored"
                    one.stop()
                    other.stop()
    print(
        f"{sum(sender.acknowledged for sender in senders):,} runs, {reader.opened:,} pages; "
        f"all could send again within {max(took):.1f} s; "
        f"longest until a run was acknowledged: {max(sender.longest for sender in senders):.1f} s, "
        f"slowest request: {max(sender.slowest for sender in senders)}; "
        f"messages sent again with the same key: {sum(received.values()) - len(received)}"
    )
