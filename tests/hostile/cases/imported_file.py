"""Files of other tools for `faultwatch import` that break parsers, or terminals."""

import json

from tests.hostile.arena import Arena, Outcome

TEXT = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202e<script>pwn(1)</script>"
LINES = f"{TEXT}\n::error::pwned\r##[error]pwned"
RUN = {"values": [1.0, 2.0], "metadata": {"date": "2025-01-01 10:00:00", "loops": 1}}


def _suite(name: object = "lu", runs: object = (RUN,), **metadata: object) -> str:
    return json.dumps(
        {"version": "1.0", "metadata": {"name": name, "unit": "second", **metadata}, "benchmarks": [{"runs": runs}]}
    )


FILES = {
    "deep": '{"version": "1.0", "benchmarks": ' + "[" * 200_000,
    "nested": _suite().replace('"loops": 1', '"loops": ' + "[" * 50_000 + "]" * 50_000),
    "digits": _suite().replace("2.0", "9" * 5000),
    "large": _suite().replace("2.0", "1e999"),
    "small": _suite().replace("2.0", "1e-323"),
    "nan": _suite().replace("2.0", "NaN"),
    "infinite": _suite().replace("2.0", "-Infinity"),
    "twice": _suite().replace('"values"', '"values": [NaN], "values": [], "values"'),
    "escapes": _suite(TEXT, hostname=TEXT, commit_id=TEXT),
    "lines": _suite(LINES, hostname=LINES, commit_id=LINES),
    "long": _suite("x" * 1_000_000),
    "numbers": _suite(7, date=[], hostname={}),
    "unit": _suite(unit=TEXT),
    "google": json.dumps(
        {"context": {"date": TEXT}, "benchmarks": [{"name": TEXT, "real_time": 1, "time_unit": TEXT}]}
    ),
    "google-deep": '{"context": {}, "benchmarks": [{"name": "a", "iterations": ' + "9" * 5000 + ', "real_time": NaN}]}',
    "go": f"commit: {TEXT}\nBenchmark{TEXT.replace(' ', '')}-8 1 2 {TEXT.replace(' ', '')}\n",
    "hyperfine": json.dumps({"results": [{"command": LINES, "mean": 1, "times": [1, 2]}]}),
    "asv": json.dumps({"version": TEXT, "commit_hash": LINES, "env_name": TEXT, "results": {TEXT: []}}),
    "lnt": json.dumps({"machine": {"name": TEXT}, "run": {"git_sha": LINES}, "tests": [{"name": LINES, TEXT: 1}]}),
    "surrogate": _suite().replace('"lu"', '"\\ud800"'),
    "null": _suite().replace('"lu"', '"a\\u0000b"'),
    "perf": f"{TEXT};;minor-faults;1;100.00;;\n",
}
USERS = ("root",)
WORDS = ("import", "--subject", "s", "--revision", "r", "--case", "c", "--started-at", "2025-01-01")


def prepare(arena: Arena) -> None:
    arena.workload()
    arena.commit()


def attack(arena: Arena) -> Outcome:
    folder = arena.work / "files"
    folder.mkdir()
    done = []
    for name, text in FILES.items():
        file = folder / f"{name}.json"
        file.write_text(text, encoding="utf-8")
        # With few defaults, more of the file is read.
        done.append(arena.run("import", "--subject", "s", str(file), address_space=4 << 30))
    hostile = folder / "\x1b]0;pwned\x07\n::error::pwned"
    hostile.write_text(FILES["nan"])
    done.append(arena.run(*WORDS, str(hostile)))
    for one in done:
        assert one.status in {0, 2}, one.said[-3000:]
        assert "Traceback" not in one.error, one.error[-3000:]
        assert len(one.said) < 3000, one.said[:3000]
        assert one.status == 0 or one.error.startswith("faultwatch: "), one.said
    done.append(arena.run("import", "--revision", "r", "--subject", "s", "--host", "h", str(folder)))
    assert done[-1].status == 2, "one damaged file refuses the whole folder"
    text = "".join(one.said for one in done)
    return Outcome(0, text, "".join(one.error for one in done), "", sum(one.seconds for one in done))


def held(_: Arena, outcome: Outcome) -> None:
    assert not [char for char in outcome.output if not char.isprintable() and char not in "\n\t"], outcome.output
    assert not [line for line in outcome.output.splitlines() if line.strip().startswith(("::", "##["))], outcome.output
