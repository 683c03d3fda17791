"""People sign in at a certified identity provider that others wrote, in a browser, for which it is another site."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.browser import DESKTOP, chromium, launched
from tests.e2e.real_service import RealService, find_free_port, running

pytestmark = [
    pytest.mark.skipif("FAULTWATCH_TEST_OPENID" not in os.environ, reason="make test-openid runs it"),
    pytest.mark.skipif(chromium() is None, reason="needs Chromium"),
    pytest.mark.browser,
]

HERE = Path(__file__).parent
CLIENT, SECRET = "faultwatch", "a-secret-that-is-long-enough-for-a-client"
GROUPS = {"ada": ["perf"], "eve": []}


@pytest.fixture
def provider_port() -> int:
    return find_free_port()


@pytest.fixture
def service(tmp_path: Path, provider_port: int) -> Iterator[RealService]:
    """A service whose people sign in at the provider, which does not run yet."""
    secret = tmp_path / "client.secret"
    secret.write_text(SECRET)
    port = find_free_port()
    settings = {
        "FAULTWATCH_ADDRESS": f"http://127.0.0.1:{port}",
        "FAULTWATCH_OIDC_ISSUER": f"http://localhost:{provider_port}",
        "FAULTWATCH_OIDC_CLIENT": CLIENT,
        "FAULTWATCH_OIDC_SECRET_FILE": str(secret),
        "FAULTWATCH_OIDC_GROUPS": "perf=read+triage",
        "FAULTWATCH_OIDC_SCOPES": "email groups",
    }
    with running(tmp_path, port, **settings) as service:
        service.ask("/health")
        yield service


@pytest.fixture
def provider(service: RealService, provider_port: int) -> Iterator[str]:
    configuration = {
        "port": provider_port,
        "client": CLIENT,
        "secret": SECRET,
        "address": service.address,
        "groups": GROUPS,
    }
    command = ["node", "provider.mjs", json.dumps(configuration)]
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        yield f"localhost:{provider_port}"
        process.terminate()


@pytest.fixture
def page() -> Iterator[Page]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        page = browser.new_context(viewport=DESKTOP).new_page()
        page.set_default_timeout(15_000)
        yield page


def sign_in(page: Page, address: str, provider: str, name: str) -> None:
    page.goto(address)
    page.get_by_role("link", name=f"Sign in with {provider}").click()
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_a_person_signs_in_and_out(service: RealService, provider: str, page: Page) -> None:
    sign_in(page, f"{service.address}/environments", provider, "ada")
    expect(page).to_have_url(f"{service.address}/environments")
    expect(page.get_by_title("Signed in as ada@example.org")).to_be_visible()
    expect(page.get_by_role("link", name="Audit log")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    # The provider asks whether to end its session too, and leads back.
    page.get_by_role("button", name="Yes, sign me out").click()
    page.wait_for_url(f"{service.address}/sign-in?**")
    page.goto(f"{service.address}/environments")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_role("link", name=f"Sign in with {provider}").click()
    expect(page.get_by_placeholder("Enter any login")).to_be_visible()  # nobody is signed in there


def test_a_person_without_a_group_is_told_so(service: RealService, provider: str, page: Page) -> None:
    sign_in(page, service.address, provider, "eve")
    expect(page.get_by_role("alert")).to_have_text(
        "You signed in as eve@example.org, but none of your groups has access to this service."
    )


def test_a_person_is_told_that_the_provider_is_away(service: RealService, provider_port: int, page: Page) -> None:
    page.goto(service.address)
    page.get_by_role("link", name=f"Sign in with localhost:{provider_port}").click()
    expect(page.get_by_role("alert")).to_contain_text("does not work at the moment")
    expect(page.get_by_label("Token")).to_be_visible()
