"""Why a case got worse: a gate and a comparison profile both sides and measure the remedies of the diagnosis."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import NoReturn, cast

import pytest

from runner.campaigns.explanation import Judge, RegressedCase, explain_regression
from runner.contract.diagnosis import AlteredDefinition, ChangedPlace, Difference, DifferencePart, FaultCause
from runner.contract.explanation import Explanation, MeasuredRemedy
from runner.contract.explanation_text import describe_change, describe_explanation
from runner.errors import FaultwatchError
from tests.runner.commands import faultwatch, git

WORKLOAD = """
[workload]
name = "sums"
[build]
command = "cc -O1 -g -fno-builtin -o sums sums.c"
[run]
command = ["./sums"]
"""
PROGRAM = """
#include <stdlib.h>
#include <string.h>
static long sum(int number) {{
    {allocate}
    memset(copy, number, 33 << 20);
    long total = copy[number];
    {release}
    return total;
}}
int main(void) {{
    for (int i = 0; i < 4; i++) sum(i);
    return 0;
}}
"""
KEPT = PROGRAM.format(allocate="static char *copy; if (!copy) copy = malloc(33 << 20);", release="")
FREED = PROGRAM.format(allocate="char *copy = malloc(33 << 20);", release="free(copy);")
LARGER = KEPT.replace("33 << 20", "36 << 20")


def make_commits(folder: Path, *programs: str, file: str = "sums.c", recipe: str = WORKLOAD) -> None:
    """Make a repository with a commit for each program."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "workload.toml").write_text(recipe, encoding="utf-8")
    for program in programs:
        (folder / file).write_text(program, encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", "Change")


def explain(folder: Path, url: str, *options: str) -> Explanation | None:
    """Compare the last two commits and return why the newer one got worse."""
    words = ("compare", "HEAD~1..HEAD", "--repo", "repo", "--json", *options)
    status, output, messages = faultwatch(folder / "home", *words, url=url, cwd=folder)
    assert status == 1, output + messages
    (document,) = json.loads(output)
    return document["explanation"] and Explanation.model_validate(document["explanation"])


def test_why_nothing_is_explained_is_said_even_if_a_path_is_not_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> NoReturn:
        raise FaultwatchError(os.fsdecode(b"/srv/caf\xe9 cannot be read"))

    monkeypatch.setattr("runner.campaigns.explanation.open_profiling", fail)
    explanation = explain_regression(cast(RegressedCase, None), cast(Judge, None), seconds=1)
    assert explanation.remark == r"the regression could not be explained: /srv/caf\udce9 cannot be read"


@pytest.mark.perf
def test_a_freed_buffer_is_named_with_its_line_and_a_setting_that_was_measured(
    tmp_path: Path, service_url: str
) -> None:
    make_commits(tmp_path / "repo", KEPT, FREED)
    explanation = explain(tmp_path, service_url, "--explain")
    assert explanation is not None
    assert explanation.leading_part is not None
    assert explanation.leading_part.place.startswith("sum at sums.c:")
    assert explanation.finding is not None
    assert explanation.finding.rule == "temporary-buffers"
    assert explanation.remedy is not None
    assert "env.MALLOC_MMAP_THRESHOLD_" in explanation.remedy.settings
    assert explanation.remedy.won_back > 0.95
    # Two pairs, if both sides repeat their counts exactly in them: on a busy host, one fault can be different.
    assert re.search(r"measured in [2-6] pairs", describe_explanation(explanation, str))


@pytest.mark.perf
@pytest.mark.thorough
def test_more_memory_has_a_line_and_no_invented_cure(tmp_path: Path, service_url: str) -> None:
    make_commits(tmp_path / "repo", KEPT, LARGER)
    explanation = explain(tmp_path, service_url, "--explain")
    assert explanation is not None
    assert explanation.finding is None
    assert explanation.remedy is None
    text = describe_explanation(explanation, str)
    assert "sum at sums.c:" in text
    assert "for the first time" in text


@pytest.mark.perf
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "build", "run", "program", "place"),
    [
        (
            "sums.py",
            "true",
            '["python3", "sums.py"]',
            "def load(pages):\n    return bytearray(pages * 4096)\n\nkept = load(PAGES)\n",
            "load at sums.py:2",
        ),
        pytest.param(
            "Sums.java",
            "javac -g Sums.java",
            '["java", "-Xms400m", "-Xmx400m", "-XX:+UseSerialGC", "-cp", ".", "Sums"]',
            "public class Sums {\n    static long[] table;\n    public static void main(String[] words) {\n"
            "        table = new long[PAGES << 9];\n    }\n}\n",
            "Sums.main at Sums.java:4",
            marks=pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK is installed"),
        ),
    ],
)
def test_what_a_runtime_touches_is_put_to_the_line_of_the_language(
    tmp_path: Path, service_url: str, file: str, build: str, run: str, program: str, place: str
) -> None:
    recipe = f'[workload]\nname = "sums"\n[build]\ncommand = "{build}"\n[run]\ncommand = {run}\n'
    make_commits(
        tmp_path / "repo",
        *(program.replace("PAGES", str(pages)) for pages in (9_000, 19_000)),
        file=file,
        recipe=recipe,
    )
    explanation = explain(tmp_path, service_url, "--explain")
    assert explanation is not None
    assert explanation.leading_part is not None
    assert explanation.leading_part.place == place
    assert 0.9 <= explanation.leading_part.faults / 10_000 <= 1.1


@pytest.mark.perf
@pytest.mark.thorough
def test_a_comparison_explains_only_if_it_is_asked(tmp_path: Path, service_url: str) -> None:
    make_commits(tmp_path / "repo", KEPT, LARGER)
    assert explain(tmp_path, service_url) is None


def test_a_remedy_states_the_share_of_the_regression_that_it_takes_back() -> None:
    remedy = MeasuredRemedy(
        text="keep", settings={"env.X": "1"}, metric="minor-faults", base=100, unchanged=1_100, remedied=130, pairs=6
    )
    assert remedy.won_back == pytest.approx(0.97)
    text = describe_explanation(Explanation(remedy=remedy), lambda word: f"<{word}>")
    share = "97\N{NARROW NO-BREAK SPACE}%"
    assert text == f"<X=1> undoes {share} of the change in minor faults, measured in 6 pairs."


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("touches 3.91\N{NO-BREAK SPACE}MiB more memory", "touches 3.91\N{NO-BREAK SPACE}MiB more memory"),
        ("has more faults on pages of table.bin", "has more faults on pages of <table.bin>"),
        ("touches pages of libx.so.1, which it did not load", "touches pages of <libx.so.1>, which it did not load"),
        ("touches again what it gave back (from f at a.c:7)", "touches again what it gave back (from f at <a.c:7>)"),
        ("touches @team www.x.example", "touches <@team www.x.example>"),
        ("touches\n# all", "<touches\n#> all"),
        ("touches ()", "touches (<)>"),
    ],
)
def test_names_in_a_sentence_are_escaped(sentence: str, text: str) -> None:
    part = DifferencePart(cause=FaultCause.FILE_PAGES, before=0, after=5, sentence=sentence)
    explanation = Explanation(difference=Difference(before=0, after=5, parts=(part,)))
    assert describe_explanation(explanation, lambda word: f"<{word}>") == f"the program {text}: +5 faults."
    assert describe_explanation(explanation, str) == f"the program {sentence}: +5 faults."


def test_a_part_that_others_take_back_is_no_share_of_the_whole() -> None:
    part = DifferencePart(
        cause=FaultCause.AFTER_MUNMAP, before=0, after=4_602, place="handle at server.c:23", sentence="touches more"
    )
    less = DifferencePart(cause=FaultCause.NEW_MEMORY, before=3_313, after=0, sentence="touches less")
    explanation = Explanation(difference=Difference(before=3_490, after=4_779, parts=(part, less)))
    text = describe_explanation(explanation, str)
    assert text == "handle at server.c:23 touches more: +4,602 faults, and −3,313 elsewhere."


def test_a_change_of_one_fault_is_in_the_singular() -> None:
    part = DifferencePart(cause=FaultCause.NEW_MEMORY, before=5, after=6, place="f at a.c:7", sentence="touches more")
    explanation = Explanation(difference=Difference(before=5, after=6, parts=(part,)))
    assert describe_explanation(explanation, str) == "f at a.c:7 touches more: +1 fault."


def test_a_change_that_acts_indirectly_is_said_to_do_so() -> None:
    part = DifferencePart(cause=FaultCause.NEW_MEMORY, before=0, after=5, place="f at a.c:7", sentence="touches more")
    difference = Difference(before=0, after=5, parts=(part,), is_indirect=True)
    text = describe_explanation(Explanation(difference=difference), str)
    assert text.startswith(
        "f at a.c:7 touches more: +5 faults. The cause was not found: neither the changed lines nor the code that "
    )


@pytest.mark.parametrize(("faults", "is_first"), [(60, True), (20, False), (-60, False)])
def test_a_changed_line_with_most_of_the_difference_comes_before_what_else_the_change_did(
    faults: int, *, is_first: bool
) -> None:
    part = DifferencePart(cause=FaultCause.NEW_MEMORY, before=0, after=100, place="f at a.c:7", sentence="touches more")
    place = ChangedPlace(place="g at b.c:8", source_file="b.c", source_line=8, faults=faults)
    difference = Difference(
        before=0, after=100, parts=(part,), changed_place=place, resized_types="Each node takes 8 bytes more."
    )
    sentences = describe_change(difference, str)
    assert sentences[is_first] == "Each node takes 8 bytes more."
    assert "g at b.c:8" in sentences[not is_first]


@pytest.mark.parametrize(("faults", "end"), [(30, "+30, while all others lost 20."), (12, "+12."), (9, "+9 of +10.")])
def test_what_other_lines_did_against_a_changed_line_is_said_if_it_is_much(faults: int, end: str) -> None:
    part = DifferencePart(cause=FaultCause.NEW_MEMORY, before=0, after=10, place="f at a.c:7", sentence="touches more")
    place = ChangedPlace(place="g at b.c:8", source_file="b.c", source_line=8, faults=faults)
    difference = Difference(before=0, after=10, parts=(part,), changed_place=place)
    (sentence,) = describe_change(difference, str)
    assert sentence.endswith(f"gained the most faults: {end}")


def test_of_two_faults_a_changed_line_with_one_comes_last() -> None:
    part = DifferencePart(cause=FaultCause.NEW_MEMORY, before=0, after=2, place="f at a.c:7", sentence="touches more")
    place = ChangedPlace(place="g at b.c:8", source_file="b.c", source_line=8, faults=1)
    difference = Difference(before=0, after=2, parts=(part,), changed_place=place, resized_types="Each node grew.")
    assert describe_change(difference, str)[0] == "Each node grew."


def test_what_the_change_alters_is_said_with_escaped_names() -> None:
    part = DifferencePart(cause=FaultCause.NEW_MEMORY, before=0, after=5, place="f at a.c:7", sentence="touches more")
    definition = AlteredDefinition(name="LIMIT", place="a.h:3", use="f at a.c:6", is_only=True)
    difference = Difference(before=0, after=5, parts=(part,), altered_definition=definition)
    text = describe_explanation(Explanation(difference=difference), lambda word: f"<{word}>")
    assert text.endswith(" The change alters only <LIMIT> (<a.h:3>), which <f at a.c:6> uses.")
    files = Difference(before=0, after=5, parts=(part,), other_change="The change alters no source code, only a.conf.")
    text = describe_explanation(Explanation(difference=files), lambda word: f"<{word}>")
    assert text.endswith(" The change alters no source code, only <a.conf>.")


def test_nothing_found_is_no_sentence() -> None:
    assert not describe_explanation(Explanation(remark="cannot be profiled"), str)
