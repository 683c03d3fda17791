"""Messages name guides by their titles, because whoever installed a wheel has no files of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

from service.config.identity_provider import IdentityProvider
from service.config.notifications import NotificationFile
from service.config.settings import Config
from service.config.trusted_jobs import TrustedJobs
from service.forges.registry import SETTINGS

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"\bguides? “([^”{]+)”")


def test_every_guide_that_a_message_names_exists() -> None:
    guides = [file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for file in ROOT.glob("docs/*/*.md")]
    sources = [file for folder in ("runner", "service", "templates") for file in (ROOT / folder).rglob("*.[ph][yt]*")]
    named = {title for file in sources for title in NAMED.findall(file.read_text(encoding="utf-8", errors="replace"))}
    assert {"Nightly runs", "Notifications"} <= named
    assert [title for title in named if not any(guide.startswith(title) for guide in guides)] == []


def test_the_settings_page_names_guides() -> None:
    titles = {file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for file in ROOT.glob("docs/*/*.md")}
    assert {section.guide for section in (Config, IdentityProvider, *SETTINGS, TrustedJobs, NotificationFile)} <= titles
