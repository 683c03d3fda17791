"""The text of the line that explains a difference, before and after."""

from __future__ import annotations

from runner.contract.code_change import MAX_CODE_TEXT, ChangedCode, ChangedDefinition, ChangedFile, Use
from runner.contract.diagnosis import DiagnosisRequest, Difference
from runner.contract.explanation_text import describe_change
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.rules.diagnose.test_difference_causes import new, profiled

FILE = "src/table.c"


def explain(
    *changed_code: ChangedCode, line: int = 12, definition: ChangedDefinition | None = None, faults: int = 900
) -> Difference:
    before, after = profiled(new(100), stacks={(0,): 100}), profiled(new(faults), stacks={(0,): faults})
    difference = diagnose_profile(
        DiagnosisRequest(
            profile=after,
            before=before,
            changed_lines={FILE: ((line, line),)},
            removed_lines={FILE: ((line, line),)},
            changed_code=changed_code,
            changed_definitions=(definition,) if definition else (),
            changed_files=(ChangedFile(file=FILE, bytes_before=10, bytes_after=11),),
        )
    ).difference
    assert difference is not None
    return difference


def code(before: str, after: str, line: int = 12) -> ChangedCode:
    return ChangedCode(file=FILE, line=line, line_before=12 if before else 0, text_before=before, text_after=after)


def test_the_text_of_a_changed_line_follows_its_place() -> None:
    (sentence,) = describe_change(explain(code("p = malloc(n);", "p = malloc(2 * n);")), str)
    assert sentence == (
        "Of the changed lines, grow at src/table.c:12 gained the most faults: +800. "
        "There, `p = malloc(n);` became `p = malloc(2 * n);`."
    )


def test_a_line_with_the_same_text_did_not_become_itself() -> None:
    (sentence,) = describe_change(explain(code("give_back(p);", "give_back(p);")), str)
    assert sentence.endswith(" There, `give_back(p);` changed only its place, its indentation or a comment.")
    cut = "x" * MAX_CODE_TEXT
    (sentence,) = describe_change(explain(code(cut, cut)), str)
    assert sentence.endswith("x` changed further on.")


def test_of_several_removed_lines_the_longest_is_told_and_a_line_in_their_place_before_it() -> None:
    removed = [code("if (!p) {", ""), code("p = reserve(20);", ""), code("}", "")]
    (sentence,) = describe_change(explain(*removed), str)
    assert sentence.endswith(" There, `p = reserve(20);` was removed.")
    (sentence,) = describe_change(explain(*removed, code("", "p = 0;")), str)
    assert sentence.endswith(" There, `p = 0;` is new.")


def test_the_first_changed_line_of_an_altered_function_is_told() -> None:
    definition = ChangedDefinition(name="grow", file=FILE, line=10, uses=(Use(file=FILE, line=10, function="grow"),))
    difference = explain(code("", "step = 2;", line=10), line=10, definition=definition)
    assert difference.altered_definition is not None
    assert describe_change(difference, str) == [
        "The change alters only grow itself, at src/table.c:10. There, `step = 2;` is new."
    ]


def test_a_changed_line_without_a_known_text_has_none() -> None:
    assert explain(code("a();", "b();", line=40)).changed_code is None
    assert explain().changed_code is None


def test_code_is_escaped_as_a_whole() -> None:
    sentences = describe_change(explain(code("", "<b> | c")), lambda text: f"[{text}]")
    assert "[`<b> | c`]" in sentences[0]
