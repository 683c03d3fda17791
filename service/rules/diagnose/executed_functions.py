"""Lists the functions of a program that were seen on recorded stacks, before or after a change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from runner.contract.code_change import ChangedDefinition
from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Profile, StackProfile
from service.rules.diagnose.profile_facts import Facts

FunctionInFile = tuple[str, str]
"""A file, and the own name of a function in it: without its class, its package, its types and its parameters."""
_SUFFIX = re.compile(r"(?:\.(?:part|constprop|isra|cold)[.\d]*)+$|(?:\.func\d+(?:\.\d+)*)+$|(?:::\{\{closure\}\})+$")
"""What compilers add to the name of a part of a function."""
_TYPES = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
"""The arguments of a template or of a generic function."""
_PARAMETERS = re.compile(r"\((?:[^()]|\([^()]*\))*\)(?: const)?$")


def list_executed_functions(request: DiagnosisRequest) -> Set[FunctionInFile]:
    """Return the functions on the recorded stacks of both sides."""
    return {
        _get_function(profile, index) for profile in _list_profiles(request) for index in range(len(profile.frames))
    }


def list_memory_managing_functions(request: DiagnosisRequest) -> Set[FunctionInFile]:
    """Return the functions on the stacks that request memory or give it back, on either side."""
    return {
        function
        for profile in _list_profiles(request)
        for stacks in (profile.returned, profile.requested)
        for function in _iterate_functions(profile, stacks)
    }


def list_faulting_functions(facts: Facts) -> Set[FunctionInFile]:
    """Return the functions on the stacks of faults, on either side."""
    profiles = [each.profile for each in (facts, facts.before) if each is not None]
    return {function for profile in profiles for function in _iterate_functions(profile, profile.faults)}


def is_used_in(definition: ChangedDefinition, functions: Set[FunctionInFile]) -> bool:
    """Return whether a definition is used in one of some functions."""
    return any((use.file, use.function) in functions for use in definition.uses)


def get_own_name(function: str) -> str:
    """Return the name of a function without its class, its package, its types and its parameters."""
    name = _SUFFIX.sub("", function)
    while (shorter := _TYPES.sub("", name)) != name:
        name = shorter
    return re.split(r"\W", _PARAMETERS.sub("", name))[-1]


def _list_profiles(request: DiagnosisRequest) -> tuple[Profile, ...]:
    return (request.profile, request.before) if request.before else (request.profile,)


def _iterate_functions(profile: Profile, stacks: StackProfile | None) -> Iterator[FunctionInFile]:
    for stack in stacks.stacks if stacks else ():
        for index in stack.frames:
            yield _get_function(profile, index)


def _get_function(profile: Profile, index: int) -> FunctionInFile:
    """Return the file and the own name of the function of a frame, as a use has them."""
    frame = profile.frames[index]
    return frame.file, get_own_name(frame.function)
