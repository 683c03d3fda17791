"""What is a page fault?: for everybody to whom a comment links it, also on a service that asks for tokens."""

from __future__ import annotations

import re
from pathlib import Path

import service.rules
from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.rules.series.detection_rules import DETECTION_RULES
from tests.service.web.text import read


def test_a_reader_without_a_token_learns_what_a_fault_is_and_nothing_else(config: Config) -> None:
    client = create_app(config.copy_with_values(access=Access.TOKENS)).test_client()
    text = read(client, "/definitions")
    assert "What is a page fault? The program uses an address without a page of memory" in text
    assert "Minor faults minor-faults faults lower yes Page faults that the kernel resolved" in text
    assert client.get("/definitions.csv").text.startswith("name,title,unit")
    (system_time,) = [entry for entry in client.get("/definitions.json").json if entry["name"] == "sys-time"]
    assert (system_time["unit"], system_time["judged"]) == ("s", False)
    assert client.get("/workloads").status_code in {302, 401}


def test_every_rule_that_flags_drifts_is_explained(config: Config) -> None:
    folder = Path(service.rules.__path__[0])
    files = [*folder.glob("detect/*.py"), *folder.glob("series/*.py")]
    used = {name for path in files for name in re.findall(r'\brule="(\w+)"', path.read_text(encoding="utf-8"))}
    assert used == set(DETECTION_RULES)
    client = create_app(config.copy_with_values(access=Access.TOKENS)).test_client()
    text = read(client, "/definitions")
    assert "sigma is the standard deviation of a run around its level" in text
    assert f"step {DETECTION_RULES['step']}" in text
