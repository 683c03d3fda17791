"""How long a flame graph of 50,000 stacks takes to open in Chromium, from the click to the drawn frames."""

import random
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.store_service import Service
from runner.contract.profile import Frame, Profile, Stack, StackKind, StackProfile
from runner.reporting.client import Service as Client
from tests.e2e.browser import launched

STACKS = 50_000
FRAMES = 3_000
DEEPEST = 50
TIMES = 5
_DRAWN = ".flame-graph g.frame rect[width]"


def with_stacks(profile: Profile) -> Profile:
    """Return a profile with 50,000 made-up stacks: they share beginnings, as those of a program do."""
    chance = random.Random(20250102)
    frames = tuple(
        Frame(function=f"function_{n}(std::vector<int>)", module=f"lib{n % 20}.so", file=f"src/{n % 100}.cpp", line=n)
        for n in range(FRAMES)
    )
    ways: list[tuple[int, ...]] = [(0,)]
    while len(ways) <= STACKS:
        grown = (*chance.choice(ways), *(chance.randrange(FRAMES) for _ in range(chance.randint(1, 8))))
        ways.append(grown[:DEEPEST])
    stacks = tuple(Stack(frames=way, weight=place) for place, way in enumerate(dict.fromkeys(ways[1:]), 1))
    total = sum(stack.weight for stack in stacks)
    faults = StackProfile(
        kind=StackKind.FAULTS, samples=len(stacks), period=1, total=total, call_graph="fp", stacks=stacks
    )
    return profile.model_copy(update={"frames": frames, "faults": faults, "on_cpu": None, "off_cpu": None})


def opening(profile: Profile) -> tuple[float, float]:
    """Return the seconds that storing the profile took, and those until it is drawn: the median of some openings."""
    taken = []
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        service = Service(Path(folder))
        try:
            address = f"http://127.0.0.1:{service.port}"
            began = time.monotonic()
            Client(address).send_profile(profile)
            stored = time.monotonic() - began
            with sync_playwright() as playwright, launched(playwright) as browser:
                for _ in range(TIMES):
                    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
                    page.goto(f"{address}/profiles")
                    began = time.monotonic()
                    page.goto(f"{address}/profiles/{profile.profile_id}", wait_until="commit")
                    page.wait_for_selector(_DRAWN, state="attached")
                    taken.append(time.monotonic() - began)
                    page.context.close()
        finally:
            service.kill()
    return stored, statistics.median(taken)
