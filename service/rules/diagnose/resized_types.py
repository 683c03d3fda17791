"""Describes the types whose size differs between two profiles: with many objects, a field more is many pages more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from msgspec import Struct

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.code_change import ChangedDefinition
from runner.contract.diagnosis import Difference, FaultCause
from runner.contract.function_names import shorten_name
from runner.contract.number_text import format_count
from runner.contract.own_frame import shorten_source_path
from runner.contract.profile import Profile, TypeField, TypeLayout
from runner.contract.word_list import join_words
from service.rules.diagnose.executed_functions import FunctionInFile, is_used_in, list_faulting_functions
from service.rules.diagnose.profile_facts import Facts

_MAX_TYPES, _MAX_FIELDS = 2, 3
"""At most so many types are described, and so many fields of each."""
_MIN_CONTAINER_BYTES = 1024
"""A type that contains resized ones, such as a table of them, is named if it changed by at least so many bytes."""
_MAX_ROUNDING_BYTES = 16
"""By how many bytes an allocator may round up an object that has grown."""
_LARGE_BYTES, _MAX_LARGE_OBJECTS = 1024, 100
"""A type of so many bytes that changed by fewer is left out if it would take more objects: most of such types, like the
state of an interpreter, have one."""
_MAX_STATIC_OBJECTS = 16
"""At most so many objects are taken to lie in the static data of a program: most of it moves with each change."""
_OBJECT_CAUSES = frozenset(
    {FaultCause.NEW_MEMORY, FaultCause.STATIC_DATA, FaultCause.STACK, FaultCause.COPIED, FaultCause.UNKNOWN_TOUCH}
)
"""The causes of which there are more faults if the objects of a program take more memory."""


class _ResizedType(Struct, frozen=True):
    """A type whose size changed, with the fields that changed it.

    Attributes
    ----------
    resized_fields
        Pairs of a field before and after.
    contained_growth
        By how many bytes the fields grew that contain another resized type.
    """

    before: TypeLayout
    after: TypeLayout
    new_fields: Sequence[TypeField]
    removed_fields: Sequence[TypeField]
    resized_fields: Sequence[tuple[TypeField, TypeField]]
    contained_growth: int

    @property
    def growth(self) -> int:
        """By how many bytes the type grew; negative if it shrank."""
        return self.after.bytes - self.before.bytes

    @property
    def own_growth(self) -> int:
        """The growth without that of other resized types that it contains."""
        return self.growth - self.contained_growth

    @property
    def is_cause(self) -> bool:
        """Whether the fields of the type itself changed, not only the size of another type that it contains."""
        return bool(self.new_fields or self.removed_fields or self.resized_fields)


def relate_to_types(difference: Difference, facts: Facts, definitions: Sequence[ChangedDefinition] = ()) -> Difference:
    """Return a difference with a sentence on the types that grew, if there are more faults, or that shrank, if fewer.

    Nothing is added if the difference needs no other cause, or if the leading cause concerns pages that contain no
    objects, or has no line of its own. A type is
    left out if none of the functions that use it was seen to fault or, if these are unknown, if a changed line has most
    of the difference itself.

    Parameters
    ----------
    definitions
        The definitions that the change alters. They tell where a type is defined if the debugging information does not.
    """
    if facts.before is None or difference.conclusion:
        return difference
    growth = difference.faults
    leading_part = difference.parts[0] if difference.parts else None
    if leading_part is None or leading_part.faults * growth <= 0 or leading_part.cause not in _OBJECT_CAUSES:
        return difference
    if not leading_part.place and leading_part.cause is not FaultCause.STATIC_DATA:
        return difference  # The same memory is touched at other lines.
    n_pages = max(difference.before, difference.after)
    all_resized = _list_resized_types(facts.before.profile, facts.profile)
    contained = {field.type for resized in all_resized for field in resized.after.fields}
    is_static = leading_part.cause is FaultCause.STATIC_DATA
    is_explained = difference.changed_place is not None and difference.changed_place.explains(growth)
    faulting = list_faulting_functions(facts)
    resized_types = [
        resized
        for resized in all_resized
        if resized.growth * growth > 0
        and _can_explain(
            resized,
            leading_part.faults,
            n_pages,
            facts.page_size,
            is_contained=not contained.isdisjoint((resized.after.name, _get_last_part(resized.after.name))),
            max_objects=_MAX_STATIC_OBJECTS if is_static else None,
        )
        and _is_used(resized, definitions, faulting, is_used_if_unknown=not is_explained)
    ]
    sentences = list(_describe_types(resized_types, definitions))
    if not sentences:
        return difference
    return difference.model_copy(
        update={"resized_types": " ".join(sentences)[:MAX_LINE_CHARACTERS], "is_indirect": False}
    )


def _is_used(
    resized: _ResizedType,
    definitions: Sequence[ChangedDefinition],
    functions: Set[FunctionInFile],
    *,
    is_used_if_unknown: bool,
) -> bool:
    """Return whether one of some functions uses a type, or a type that contains it."""
    definition = _find_definition(resized, definitions)
    return is_used_in(definition, functions) if definition and definition.uses else is_used_if_unknown


def _can_explain(
    resized: _ResizedType,
    faults: int,
    n_pages: int,
    page_size: int,
    *,
    is_contained: bool,
    max_objects: int | None = None,
) -> bool:
    """Return whether a type can cause a change of so many faults.

    A single object may be larger than all that is touched of it. Otherwise, all pages may contain nothing but objects.

    Parameters
    ----------
    is_contained
        Whether the objects are parts of others, so that no allocator rounds their size up.
    max_objects
        The largest plausible number of objects; None if it is unlimited.
    """
    rounding = 0 if is_contained else _MAX_ROUNDING_BYTES
    growth, n_bytes = abs(resized.growth) + rounding, max(resized.before.bytes, resized.after.bytes)
    if n_bytes >= _LARGE_BYTES > growth and abs(faults) * page_size > _MAX_LARGE_OBJECTS * growth:
        return False
    if max_objects is not None and (abs(faults) - 1) * page_size >= max_objects * growth:
        return False
    return abs(faults) * page_size < growth + page_size or abs(faults) * n_bytes <= growth * n_pages


def _list_resized_types(before: Profile, after: Profile) -> list[_ResizedType]:
    """Return the types that both profiles contain with different sizes."""
    layouts_before = {layout.name: layout for layout in before.types}
    pairs = [
        (layouts_before[layout.name], layout)
        for layout in after.types
        if layout.name in layouts_before and layout.bytes != layouts_before[layout.name].bytes
    ]
    # A type that contains another is named without its namespaces in the field.
    resized_names = {name for _, layout in pairs for name in (layout.name, _get_last_part(layout.name))}
    return [_compare_fields(*pair, resized_names) for pair in pairs]


def _compare_fields(before: TypeLayout, after: TypeLayout, resized_names: set[str]) -> _ResizedType:
    """Return how the fields of a type changed; those that contain another resized type are only summed."""
    fields_before = {field.name: field for field in before.fields}
    fields_after = {field.name: field for field in after.fields}
    common_fields = [(fields_before[name], field) for name, field in fields_after.items() if name in fields_before]
    resized_fields = [(old, new) for old, new in common_fields if old.bytes != new.bytes]
    return _ResizedType(
        before,
        after,
        new_fields=[field for name, field in fields_after.items() if name not in fields_before],
        removed_fields=[field for name, field in fields_before.items() if name not in fields_after],
        resized_fields=[(old, new) for old, new in resized_fields if new.type not in resized_names],
        contained_growth=sum(new.bytes - old.bytes for old, new in resized_fields if new.type in resized_names),
    )


def _get_last_part(name: str) -> str:
    """Return the name of a type without its namespaces, but with the arguments of a template."""
    head, bracket, arguments = name.partition("<")
    return head.rpartition("::")[2] + bracket + arguments


def _describe_types(resized_types: Sequence[_ResizedType], definitions: Sequence[ChangedDefinition]) -> Iterator[str]:
    """Yield sentences on the types whose own fields changed, and on the largest of those that contain them.

    First comes the type that grew most in relation to its size: the difference takes the least memory full of it.
    """
    causes = [resized for resized in resized_types if resized.is_cause]
    causes.sort(key=lambda resized: -abs(resized.own_growth) / max(1, resized.before.bytes))
    yield from (_describe_type(resized, definitions) for resized in causes[:_MAX_TYPES])
    n_others = len(causes) - _MAX_TYPES
    if n_others > 0:
        yield f"The size of {format_count(n_others, 'other type')} changed as well."
    largest = max(resized_types, key=lambda resized: abs(resized.growth), default=None)
    if causes and largest is not None and abs(largest.growth) >= max(_MIN_CONTAINER_BYTES, 2 * abs(causes[0].growth)):
        yield f"So each {_shorten_type_name(largest)} takes {_format_growth(largest)}."


def _describe_type(resized: _ResizedType, definitions: Sequence[ChangedDefinition]) -> str:
    """Return by how many bytes a type grew or shrank, and which of its fields did it."""
    place = _find_place(resized, definitions)
    name = f"{_shorten_type_name(resized)}{f' ({place})' if place else ''}"
    return f"Each {name} takes {_format_growth(resized)}: {join_words([*_describe_fields(resized)])}."


def _shorten_type_name(resized: _ResizedType) -> str:
    return shorten_name(resized.after.name.rpartition("/")[2])  # Go's names begin with the path of the package.


def _format_growth(resized: _ResizedType) -> str:
    direction = "more" if resized.growth > 0 else "fewer"
    sizes = f"{resized.after.bytes:,} instead of {resized.before.bytes:,}"
    return f"{format_count(abs(resized.growth), 'byte')} {direction}, {sizes}"


def _describe_fields(resized: _ResizedType) -> Iterator[str]:
    """Yield what happened to the fields of a type, with the largest first, and the number of those not shown."""
    changes = [
        *((field.bytes, field.name, f"is new ({format_count(field.bytes, 'byte')})") for field in resized.new_fields),
        *((field.bytes, field.name, "was removed") for field in resized.removed_fields),
        *(
            (abs(after.bytes - before.bytes), after.name, f"has {after.bytes:,} instead of {before.bytes:,}")
            for before, after in resized.resized_fields
        ),
    ]
    changes.sort(key=lambda change: -change[0])
    yield from (f"{shorten_name(name)} {text}" for _, name, text in changes[:_MAX_FIELDS])
    n_others = len(changes) - _MAX_FIELDS
    if n_others > 0:
        yield f"{format_count(n_others, 'other field')} changed"


def _find_place(resized: _ResizedType, definitions: Sequence[ChangedDefinition]) -> str:
    """Return the file and line of the first field that changed, or else of the type; empty if unknown."""
    layout = resized.after
    changed_fields = [*resized.new_fields, *(after for _, after in resized.resized_fields)]
    line = min((field.line for field in changed_fields if field.line), default=layout.line)
    if layout.file and line:
        return f"{shorten_source_path(layout.file)}:{line}"
    definition = _find_definition(resized, definitions)
    return f"{shorten_source_path(definition.file)}:{definition.line}" if definition else ""


def _find_definition(resized: _ResizedType, definitions: Sequence[ChangedDefinition]) -> ChangedDefinition | None:
    """Return the altered definition of a type; None if it is unknown."""
    own_name = shorten_name(resized.after.name).rpartition(".")[2].rpartition("::")[2]
    return next((definition for definition in definitions if definition.name == own_name), None)
