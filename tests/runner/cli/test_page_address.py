import socket

import pytest
from msgspec.structs import replace

from runner.cli.page_address import build_page_address, is_served
from runner.settings import load_settings


def test_a_page_is_on_the_service_that_is_named_else_on_the_one_to_start_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAULTWATCH_PORT", raising=False)
    settings = replace(load_settings(), url=None)
    assert build_page_address(settings, "/series/1") == "http://127.0.0.1:8080/series/1"
    monkeypatch.setenv("FAULTWATCH_PORT", "9000")
    assert build_page_address(settings, "/series/1") == "http://127.0.0.1:9000/series/1"
    named = replace(settings, url="https://faults.example.org/")
    assert build_page_address(named, "/api/v1/jobs/3/log") == "https://faults.example.org/api/v1/jobs/3/log"


def test_the_service_here_is_found_only_where_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(load_settings(), url=None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("FAULTWATCH_PORT", str(server.getsockname()[1]))
        assert is_served(settings)
    assert not is_served(settings)
    assert is_served(replace(settings, url="https://faults.example.org/")), "that one has just answered"
