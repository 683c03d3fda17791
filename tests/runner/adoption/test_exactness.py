import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.adoption.exactness import assess_exactness


@pytest.mark.parametrize(
    ("counts", "exact", "words"),
    [
        ([87, 87, 87], True, "87 minor faults in each of 3 executions, so even one more fault is a drift"),
        ([1000, 1000, 1001], True, "1,000 minor faults in 2 of 3 executions, 1,000 to 1,001 overall"),
        ([1, 2, 3], False, "1 to 3 minor faults in 3 executions: the count varies without a code change"),
    ],
)
def test_what_repeats_is_exact(counts: list[float], exact: bool, words: str) -> None:
    result = assess_exactness(counts)
    assert result.exact is exact
    assert result.sentence.startswith(words)


def test_a_count_that_varies_names_what_makes_it_repeat() -> None:
    assert "`OMP_NUM_THREADS=1`" in assess_exactness([1, 2, 3]).sentence
    go = assess_exactness([1, 2, 3], {"tool.go": "go1.26.8"}).sentence
    assert "`GOGC=off` and `GOMAXPROCS=1`" in go
    assert "OMP_NUM_THREADS" not in go
    without = assess_exactness([1, 2, 3], {"tool.go": "go1.26.8", "variable.GOGC": "off"}).sentence
    assert "is already off" in without
    assert "GOGC=off" not in without
    assert "`GOMAXPROCS=1`" in without
    alone = assess_exactness(
        [1, 2, 3], {"tool.go": "go1.26.8", "variable.GOGC": "off", "variable.GOMAXPROCS": "1"}
    ).sentence
    assert "GOMAXPROCS=1" not in alone
    larger = assess_exactness([1, 2, 3], {"tool.go": "go1.26.8", "variable.GOGC": "200"}).sentence
    assert "`GOGC=off` and `GOMAXPROCS=1`" in larger, "the collector is not off"
    threads = {"tool.go": "go1.26.8", "variable.GOGC": "off", "variable.GOMAXPROCS": "4"}
    assert "`GOMAXPROCS=1`" in assess_exactness([1, 2, 3], threads).sentence
    assert all("GOEXPERIMENT=norandomizedheapbase64" in advice for advice in (go, without, alone))


def test_what_was_tried_in_vain_is_not_recommended() -> None:
    node = "/usr/bin/node, 13 bytes of 2026-01-01 00:00:00"
    for settings, tried in (
        ({}, ["OMP_NUM_THREADS=1", "./x"]),
        ({"tool.go": "go1.26.8"}, ["GOGC=off", "GOMAXPROCS=1", "./x"]),
        ({"program": node}, ["node --single-threaded x.js"]),
        ({"program": "/usr/bin/java, 13 bytes"}, ["JAVA_TOOL_OPTIONS=-XX:+UseSerialGC -Xbatch", "java x"]),
    ):
        sentence = assess_exactness([1, 2, 3], settings, tried_settings=tried).sentence
        for words in (
            "OMP_NUM_THREADS",
            "GOGC",
            "GOMAXPROCS",
            "--single-threaded",
            "UseSerialGC",
            "Try such a setting",
        ):
            assert words not in sentence, (settings, words)
        assert "make them constant" in sentence
        assert "  " not in sentence
    other = assess_exactness([1, 2, 3], {"program": node}, tried_settings=["OMP_NUM_THREADS=1", "node x.js"]).sentence
    assert "`--single-threaded`" in other, "it was not tried"


def test_a_count_that_most_executions_share_says_how_to_find_out_about_the_others() -> None:
    sentence = assess_exactness([1234, 1230, 1234, 1240, 1234]).sentence
    assert sentence.startswith(
        "1,234 minor faults in 3 of 5 executions, 1,230 to 1,240 overall. More executions show whether the others are "
        "only outliers: `faultwatch measure --samples 10`. If the count keeps varying, `--env NAME=VALUE` tests a "
        "setting that may be the reason. The usual causes are "
    )
    server = assess_exactness([5, 5, 6], is_server=True).sentence
    assert server.startswith("5 minor faults in 2 of 3 starts, 5 to 6 overall. More starts show whether the others are")
    assert "`faultwatch measure --samples 10`. The order of the requests" in server
    assert "--env" not in server


def test_a_runtime_names_its_own_flags() -> None:
    java, node = (f"/usr/bin/{name}, 13 bytes of 2026-01-01 00:00:00" for name in ("java", "node"))
    assert "`-XX:+UseSerialGC -Xbatch`" in assess_exactness([1, 2, 3], {"program": java}).sentence
    assert (
        "`--single-threaded`" in assess_exactness([1, 2, 3], {"program": "/bin/sh, 1", "program.node": node}).sentence
    )
    assert "JVM" not in assess_exactness([1, 2, 3], {"program": "/opt/java/bin/other, 13 bytes"}).sentence


@pytest.mark.parametrize("program", ["/usr/bin/memcached", "/usr/bin/java", "/usr/bin/node"])
def test_a_server_is_advised_about_its_load(program: str) -> None:
    sentence = assess_exactness([1, 2, 3], {"program": f"{program}, 1 bytes", "tool.go": "x"}, is_server=True).sentence
    assert sentence.startswith("1 to 3 minor faults in 3 starts")
    assert "one client that stays connected" in sentence
    assert "OMP_NUM_THREADS" not in sentence
    assert "--env" not in sentence
    assert ("AlwaysPreTouch" in sentence, "max-semi-space" in sentence) == (
        program[9:] == "java",
        program[9:] == "node",
    )


@pytest.mark.parametrize(
    ("go", "known"),
    [
        ("/usr/local/go/bin/go, 13 bytes of 2026-01-01 00:00:00, go1.26", True),
        ("/usr/local/go/bin/go, 13 bytes of 2026-01-01 00:00:00, go1.26.8", True),
        ("/usr/local/go/bin/go, 13 bytes of 2026-01-01 00:00:00, go1.100rc1", True),
        ("/usr/local/go/bin/go, 13 bytes of 2026-01-01 00:00:00, go2.0", True),
        ("/usr/local/go/bin/go, 13 bytes of 2026-01-01 00:00:00, go1.25.9", False),
        ("/srv/go1.26/bin/go, 13 bytes of 2026-01-01 00:00:00, go1.4", False),
        ("/usr/local/go/bin/go, 13 bytes of 2026-01-01 00:00:00", False),
    ],
)
@pytest.mark.parametrize("variables", [{}, {"variable.GOGC": "off"}])
def test_only_a_go_that_knows_an_option_is_advised_to_be_built_with_it(
    go: str, known: bool, variables: dict[str, str]
) -> None:
    sentence = assess_exactness([1, 2, 3], {"tool.go": go, **variables}).sentence
    assert ("norandomizedheapbase64" in sentence) is known
    assert "  " not in sentence


@given(st.lists(st.integers(0, 3), min_size=2, max_size=9))
def test_a_count_is_exact_if_most_executions_agree(counts: list[int]) -> None:
    most = max(counts.count(value) for value in counts)
    assert assess_exactness(counts).exact is (most >= 2 and 2 * most > len(counts))


def test_a_build_that_only_looks_for_go_is_not_advised_as_a_program_of_go() -> None:
    python = assess_exactness([1, 2, 3], {"tool.go": "go1.24", "tool.python3": "3.11", "tool.meson": "1.5"}).sentence
    assert not python.partition("varies without a code change. ")[2].startswith("Go's")


def test_a_count_that_varies_says_what_a_comparison_can_find() -> None:
    some = assess_exactness([5000, 5040, 4980, 5010], seconds=0.5).sentence
    assert re.search(r"A rise of 2\s% would be proven in about \d+ interleaved pairs \(\d+\ss\)\.", some)
    wild = assess_exactness([5000, 9000, 12000, 7000], seconds=0.5).sentence
    assert "A rise of 2\N{NARROW NO-BREAK SPACE}% would not be proven within 400 interleaved pairs." in wild
    assert "pairs" not in assess_exactness([5000, 5000, 5000]).sentence


def test_a_single_count_is_not_said_to_vary() -> None:
    exactness = assess_exactness([5])
    assert not exactness.exact
    assert exactness.sentence.startswith("5 minor faults in one execution: ")
