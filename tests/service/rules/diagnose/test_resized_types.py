"""The types whose sizes a change altered, as sentences beside the causes of a difference."""

from __future__ import annotations

import pytest

from runner.contract.code_change import ChangedDefinition, LineRange, Use
from runner.contract.diagnosis import DiagnosisRequest, Difference
from runner.contract.profile import Memory, Profile, Touch, TypeField, TypeLayout
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.rules.diagnose.test_difference_causes import GROW, new, profiled


def layout(name: str, n_bytes: int, *fields: tuple[str, int] | tuple[str, int, str], file: str = "") -> TypeLayout:
    """Return a type of which each field is on a line of its own."""
    return TypeLayout(
        name=name,
        bytes=n_bytes,
        file=file,
        line=10 if file else 0,
        fields=tuple(
            TypeField(
                name=field[0], bytes=field[1], type=field[2] if len(field) == 3 else "", line=11 + i if file else 0
            )
            for i, field in enumerate(fields)
        ),
    )


def explain(
    types_before: list[TypeLayout],
    types_after: list[TypeLayout],
    faults: tuple[int, int] = (100, 110),
    definition: ChangedDefinition | None = None,
    profiles: tuple[Profile, Profile] | None = None,
    lines: dict[str, tuple[LineRange, ...]] | None = None,
) -> Difference:
    before, after = profiles or tuple(profiled(new(n), stacks={(0,): n}) for n in faults)
    difference = diagnose_profile(
        DiagnosisRequest(
            profile=after.model_copy(update={"types": tuple(types_after)}),
            before=before.model_copy(update={"types": tuple(types_before)}),
            changed_lines=lines or {"src/node.h": ((11, 11),)},
            changed_definitions=(definition,) if definition else (),
        )
    ).difference
    assert difference is not None
    return difference


def test_a_new_field_is_named_with_its_line_and_with_the_bytes_that_each_object_takes_more() -> None:
    before = layout("node", 72, ("next", 8), ("key", 64), file="src/node.h")
    after = layout("node", 88, ("next", 8), ("key", 64), ("position", 16), file="src/node.h")
    difference = explain([before], [after])
    assert difference.resized_types == (
        "Each node (src/node.h:13) takes 16 bytes more, 88 instead of 72: position is new (16 bytes)."
    )
    assert not difference.is_indirect, "how the change acts is known"
    assert explain([after], [before], (110, 100)).resized_types == (
        "Each node (src/node.h:10) takes 16 bytes fewer, 72 instead of 88: position was removed."
    )


def test_a_larger_array_is_named_and_then_the_type_that_contains_many_of_the_resized() -> None:
    page = [layout("page_s", 80, ("free", 80)), layout("segment", 40_080, ("id", 80), ("pages", 40_000, "page_s"))]
    larger = [layout("page_s", 96, ("free", 96)), layout("segment", 48_080, ("id", 80), ("pages", 48_000, "page_s"))]
    assert explain(page, larger).resized_types == (
        "Each page_s takes 16 bytes more, 96 instead of 80: free has 96 instead of 80. "
        "So each segment takes 8,000 bytes more, 48,080 instead of 40,080."
    )


def test_a_type_that_only_contains_a_resized_one_is_no_cause_whatever_its_namespace() -> None:
    before = [layout("shop::Item", 8, ("a", 8)), layout("shop::Box", 8, ("item", 8, "Item"))]
    after = [layout("shop::Item", 16, ("a", 8), ("b", 8)), layout("shop::Box", 16, ("item", 16, "Item"))]
    assert explain(before, after).resized_types == (
        "Each shop::Item takes 8 bytes more, 16 instead of 8: b is new (8 bytes)."
    )


def test_the_place_of_a_type_without_one_is_that_of_the_altered_definition() -> None:
    definition = ChangedDefinition(name="Node", file="ast/node.go", line=7)
    name = "example.org/tree/ast.Node"
    difference = explain([layout(name, 8, ("a", 8))], [layout(name, 16, ("a", 8), ("b", 8))], definition=definition)
    assert difference.resized_types.startswith("Each ast.Node (ast/node.go:7) takes 8 bytes more")


@pytest.mark.parametrize(
    ("types_before", "types_after", "faults"),
    [
        ([layout("node", 8)], [layout("node", 8)], (100, 110)),
        ([layout("node", 8)], [layout("other", 16)], (100, 110)),
        ([layout("node", 16, ("a", 16))], [layout("node", 8, ("a", 8))], (100, 110)),
        ([layout("node", 8, ("a", 8))], [layout("node", 16, ("a", 16))], (110, 100)),
    ],
    ids=["same", "another", "smaller-but-more-faults", "larger-but-fewer-faults"],
)
def test_types_that_cannot_have_caused_the_difference_are_not_named(
    types_before: list[TypeLayout], types_after: list[TypeLayout], faults: tuple[int, int]
) -> None:
    assert explain(types_before, types_after, faults).resized_types == ""


def test_a_type_that_could_not_explain_so_many_faults_in_all_of_the_memory_is_not_named() -> None:
    types = [layout("state", 1_000, ("a", 1_000))], [layout("state", 1_008, ("a", 1_000), ("b", 8))]
    assert explain(*types, faults=(10_000, 10_230)).resized_types, "an allocator rounds 8 bytes up"
    assert not explain(*types, faults=(10_000, 10_300)).resized_types
    single = [layout("state", 2_000, ("a", 2_000))], [layout("state", 2_008, ("a", 2_000), ("b", 8))]
    assert not explain(*single, faults=(10_000, 10_003)).resized_types, "it would take 1,500 of them"
    large = [layout("index", 9 << 20, ("a", 9 << 20))], [layout("index", (9 << 20) + 6_000, ("a", (9 << 20) + 6_000))]
    assert explain(*large, faults=(500, 502)).resized_types, "one object alone has two pages more"
    assert not explain(*large, faults=(500, 504)).resized_types


def test_a_type_is_named_only_if_a_function_that_uses_it_was_seen_to_fault() -> None:
    types = [layout("Entity", 8, ("a", 8))], [layout("Entity", 16, ("a", 8), ("b", 8))]
    used, unused = (
        ChangedDefinition(name="Entity", file="src/node.h", line=7, uses=(Use(file=file, line=11, function="grow"),))
        for file in ("src/table.c", "src/entity.c")
    )
    assert explain(*types, definition=used).resized_types
    assert not explain(*types, definition=unused).resized_types


def test_a_type_of_unknown_use_is_not_named_where_a_changed_line_explains_the_difference() -> None:
    types = [layout("Entity", 8, ("a", 8))], [layout("Entity", 16, ("a", 8), ("b", 8))]
    assert explain(*types, lines={"src/table.c": ((12, 12),)}).changed_place is not None
    assert not explain(*types, lines={"src/table.c": ((12, 12),)}).resized_types


def test_many_objects_of_a_type_are_not_taken_to_lie_in_static_data() -> None:
    types = [layout("arena", 144, ("a", 144))], [layout("arena", 152, ("a", 144), ("b", 8))]
    rows = [(Memory.STATIC, Touch.FIRST, "", GROW, n) for n in (100, 102, 103)]
    few, more = ((profiled(rows[0]), profiled(row)) for row in rows[1:])
    assert not explain(*types, profiles=few).resized_types
    assert not explain(*types, profiles=more).resized_types
    large = [layout("state", 144, ("a", 144))], [layout("state", 8_300, ("a", 8_300))]
    assert explain(*large, profiles=few).resized_types


def test_types_say_nothing_about_pages_of_files() -> None:
    rows = [(Memory.FILE_DATA, Touch.FIRST, "/srv/table", GROW, n) for n in (100, 110)]
    profiles = (profiled(rows[0]), profiled(rows[1]))
    types = ([layout("node", 8, ("a", 8))], [layout("node", 16, ("a", 16))])
    assert explain(*types, profiles=profiles).resized_types == ""


def test_the_type_that_grew_most_in_relation_to_its_size_comes_first() -> None:
    """There is one document, but many nodes."""
    before = [layout("document", 680, ("a", 680)), layout("node", 72, ("a", 72))]
    after = [layout("document", 704, ("a", 680), ("b", 24)), layout("node", 80, ("a", 72), ("b", 8))]
    assert explain(before, after).resized_types.startswith("Each node takes 8 bytes more")


def test_of_many_resized_types_those_that_grew_most_are_named_and_the_others_counted() -> None:
    before = [layout(f"t{n}", 8, ("a", 8)) for n in range(1, 5)]
    after = [layout(f"t{n}", 8 + 8 * n, *((f"f{i}", 8 + 8 * n) for i in range(5))) for n in range(1, 5)]
    text = explain(before, after).resized_types
    assert text.startswith("Each t4 takes 32 bytes more, 40 instead of 8: f0 is new (40 bytes), f1 is new (40 bytes)")
    assert "Each t3" in text
    assert "and 3 other fields changed. " in text
    assert text.endswith("The size of 2 other types changed as well.")


def test_the_size_of_a_type_in_another_is_not_rounded_up() -> None:
    """Only what is allocated by itself can take more than its own bytes more."""
    item = [layout("item", 80, ("a", 80))], [layout("item", 88, ("a", 80), ("b", 8))]
    table = layout("table", 8_000, ("items", 8_000, "item")), layout("table", 8_800, ("items", 8_800, "item"))
    alone = explain(*item, faults=(1_000, 1_200))
    assert "item" in alone.resized_types
    contained = explain([*item[0], table[0]], [*item[1], table[1]], faults=(1_000, 1_200))
    assert contained.resized_types == ""
