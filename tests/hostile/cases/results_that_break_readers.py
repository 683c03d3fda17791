"""Result files that break those who parse them: nested without end, numbers of any length, no numbers at all."""

from tests.hostile.arena import Arena, Outcome

BOMBS = {
    "json": '{"operations": 1e308, "seconds": 1e-308, "bytes": ' + "9" * 5000 + "}",
    "google-benchmark": '{"benchmarks": ' + "[" * 200_000,
    "hyperfine": '{"results": [{"times": [NaN, Infinity, -1e400, ' + "1" * 4000 + "]}]}",
    "pytest-benchmark": '{"benchmarks": [{"stats": {"rounds": 1e999, "iterations": {}, "total": []}}]}',
    "pyperf": '{"version": "1.0", "metadata": {"unit": "second", "loops": ' + "9" * 400 + '}, "benchmarks": [{"runs": '
    '[{"values": [1e-320, 1e308], "warmups": [[99999999999999999999, 1.0]]}]}]}',
}


def prepare(arena: Arena) -> None:
    _write(arena, "json")
    arena.commit()


def _write(arena: Arena, form: str) -> None:
    # The text is printed and written, whichever is read.
    arena.write(f"{form}.txt", BOMBS[form])
    arena.workload(
        f'[run]\ncommand = ["cp", "{form}.txt", "result"]\noutput = "{form}"\noutput_file = "result"',
        build="directory = 'workload'\ncommand = 'true'",
    )


def held(arena: Arena, outcome: Outcome) -> None:
    outcomes = [outcome]
    for form in BOMBS:
        _write(arena, form)
        outcomes.append(arena.run("measure", "workload.toml", "--repo", ".", "--sandbox", "--samples", "1"))
    for done in outcomes:
        assert done.status in {0, 1, 2}, done.said
        assert "Traceback" not in done.error, done.error[-2000:]
