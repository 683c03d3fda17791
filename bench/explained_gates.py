"""Whether a gate that fails says why: forty planted regressions whose line, cause and cure are known.

``python -m bench.explained_gates [--full] [SEED [TITLE]]``, run as ``make bench-explained-gates``. Each regression is a
repository of two commits, and each gate is the real command: it builds, compares, profiles and measures remedies. What
counts is the first line of its pull request comment. Four regressions take two minutes; all forty, with ``make
bench-explained-gates-full``, twenty.
"""

import html
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.explained_regressions import Regression, draw_regressions
from bench.report import finish_report, is_full, list_words, show_steps

MIN_RIGHT_SHARE = 0.9
"""Of those that a setting cures, the share whose line, cause and cure must be named."""
N_DRAWN_OF_KIND = 2
"""How many curable and how many incurable regressions are gated if not all are."""
MAX_TIME_SHARE = 2.0
"""How long an explanation may take, as a multiple of the comparison."""
WORKLOAD = """\
[workload]
name = "planted"
timeout = 60

[build]
command = "{build}"
environment = {{ PATH = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", HOME = "/tmp", GOCACHE = "/tmp/go-cache" }}

[run]
command = "{run}"
output = "json"
"""


def main() -> None:
    """Gate each regression, and judge the first line of its comment."""
    words = list_words()
    seed = int(words[0]) if words else time.time_ns() % 100_000
    drawn = choose_regressions(seed, words[1:])
    print(f"seed {seed}")
    counts: Counter[str] = Counter()
    shares = []
    misses = []
    with tempfile.TemporaryDirectory(prefix="explained-gates-") as folder:
        for number, regression in show_steps(list(enumerate(drawn)), "gates"):
            report = run_gate(regression, Path(folder, str(number)))
            kind = "curable" if regression.is_curable else "incurable"
            if report["line"].startswith("**Better"):
                # A collector may keep its heap smaller with what was planted than without it.
                counts[f"{kind}, no regression"] += 1
                print(f"none   {regression.title}: {report['line']}", flush=True)
                continue
            problem, share = judge_explanation(regression, report)
            counts[f"{kind}, right" if not problem else f"{kind}, wrong"] += 1
            if share is not None:
                shares.append(share)
            print(
                f"{'right' if not problem else 'WRONG'}  {regression.title}: {report['line'] or 'nothing'}", flush=True
            )
            if problem:
                print(f"       {problem}", flush=True)
            if not regression.is_curable and "invents" in problem:
                misses.append(f"{regression.title}: {problem}")
    n_curable = sum(regression.is_curable for regression in drawn) - counts["curable, no regression"]
    if counts["curable, right"] < int(MIN_RIGHT_SHARE * n_curable):
        misses.append(
            f"{counts['curable, right']} of {n_curable} curable regressions are explained, {MIN_RIGHT_SHARE:.0%} wanted"
        )
    if shares and max(shares) > MAX_TIME_SHARE:
        misses.append(
            f"an explanation took {max(shares):.1f} times as long as its comparison, {MAX_TIME_SHARE} allowed"
        )
    finish_report("explained-gates", misses, {"seed": seed, **counts, "longest": max(shares, default=0.0)})


def choose_regressions(seed: int, titles: list[str]) -> list[Regression]:
    """Return the regressions of a seed with these titles; without titles, all or the first few of each kind."""
    regressions = list(draw_regressions(seed))
    if titles or is_full():
        return [regression for regression in regressions if regression.title in titles or not titles]
    curable = [regression for regression in regressions if regression.is_curable]
    incurable = [regression for regression in regressions if not regression.is_curable]
    return [*curable[:N_DRAWN_OF_KIND], *incurable[:N_DRAWN_OF_KIND]]


def run_gate(regression: Regression, folder: Path) -> dict[str, Any]:
    """Gate the head of a repository that has the regression; return the comment's first line and the explanation."""
    repository = folder / "repository"
    repository.mkdir(parents=True)
    build = regression.build.format(file=regression.file) or "true"
    keys = "".join(f"{name} = {json.dumps(value)}\n" for name, value in regression.keys.items())
    (folder / "workload.toml").write_text(WORKLOAD.format(build=build, run=regression.run) + keys)
    git(repository, "init", "-q", "-b", "main")
    for side, source in (("base", regression.base), ("head", regression.head)):
        (repository / regression.file).write_text(source)
        git(repository, "add", ".")
        git(repository, "commit", "-qm", side)
    words = ["gate", str(folder / "workload.toml"), "HEAD~1..HEAD", "--repo", str(repository), "--no-sandbox", "-q"]
    words += ["--explain", "--markdown", str(folder / "comment.md"), "--output", str(folder / "gate.json")]
    done = subprocess.run(
        [sys.executable, "-m", "faultwatch", *words], capture_output=True, text=True, check=False, timeout=900
    )
    if not (folder / "gate.json").exists():
        return {"line": "", "error": done.stderr[-300:], "case": {}}
    case = json.loads((folder / "gate.json").read_text())["cases"][0]
    comment = [html.unescape(line) for line in (folder / "comment.md").read_text().splitlines() if line.strip()]
    return {"line": next((line for line in comment if "faults" in line), ""), "error": done.stderr[-300:], "case": case}


def judge_explanation(regression: Regression, report: dict[str, Any]) -> tuple[str, float | None]:
    """Return what is wrong with an explanation, or nothing, and how long it took relative to the comparison."""
    explanation = report["case"].get("explanation")
    if not explanation:
        return f"no explanation: {report['error']}", None
    line, remedy, finding = report["line"], explanation["remedy"], explanation["finding"]
    share = explanation["seconds"] / measure_comparison(report["case"])
    if remedy and not regression.is_curable and not set(remedy["settings"]) <= regression.helpful_settings:
        return f"invents a cure: {remedy['settings']}, {remedy['unchanged']:g} to {remedy['remedied']:g}", share
    problems = []
    lines = {int(number) for number in re.findall(rf"{re.escape(regression.file)}:(\d+)", line)}
    if not lines & regression.lines:
        problems.append(f"names line {sorted(lines)}, not {sorted(regression.lines)}")
    parts = (explanation["difference"] or {}).get("parts", [])
    causes = {finding["rule"]} if finding else {part["cause"] for part in parts[:1]}
    if not causes & regression.causes:
        problems.append(
            f"the cause is {', '.join(causes) or 'missing'}, not one of {', '.join(sorted(regression.causes))}"
        )
    if regression.is_curable and not remedy:
        problems.append("no cure")
    if (
        regression.is_curable
        and remedy
        and remedy["text"]
        and not any(value in line for value in remedy["settings"].values())
    ):
        problems.append("the cure is not in the first line")
    if share > MAX_TIME_SHARE:
        problems.append(f"took {share:.1f} times as long as the comparison")
    return "; ".join(problems), share


def measure_comparison(case: dict[str, Any]) -> float:
    """Return how long a comparison took, in seconds: from the start of its first side to the end of its last one."""
    begin = min(datetime.fromisoformat(case[side]["started_at"]) for side in ("base", "head"))
    end = max(datetime.fromisoformat(case[side]["finished_at"]) for side in ("base", "head"))
    return (end - begin).total_seconds()


def git(repository: Path, *words: str) -> None:
    """Run git with an author of its own."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", "-C", str(repository), *identity, *words], check=True)


if __name__ == "__main__":
    main()
