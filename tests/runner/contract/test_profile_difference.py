"""Two profiles side by side."""

from runner.contract.profile import Frame, Profile, Stack, StackKind, StackProfile
from runner.contract.profile_difference import WeightChange, compare_lines, compare_stacks
from tests.runner.sample_reports import profile

LIBC = "/usr/lib/libc.so.6"


def faulting(weights: dict[tuple[str, ...], int], module: str = "program") -> Profile:
    """Return a profile with stacks of ``function:line``; ``libc/`` before it is a function of the library."""
    frames: dict[Frame, int] = {}
    stacks = []
    for words, weight in weights.items():
        places = []
        for word in words:
            name, _, line = word.partition(":")
            library = name.startswith("libc/")
            frame = Frame(
                function=name.removeprefix("libc/"),
                module=LIBC if library else module,
                file="" if library else "src/main.c",
                line=int(line or 0),
            )
            places.append(frames.setdefault(frame, len(frames)))
        stacks.append(Stack(frames=tuple(places), weight=weight))
    faults = StackProfile(
        kind=StackKind.FAULTS,
        samples=len(stacks),
        period=1,
        total=sum(weights.values()),
        call_graph="fp",
        stacks=tuple(stacks),
    )
    return profile().model_copy(update={"frames": tuple(frames), "faults": faults})


def told(before: Profile, after: Profile) -> list[tuple[str, int, int]]:
    """Return function, line after and growth."""
    return [
        (place.function_key.function, place.line_after, change.growth) for place, change in compare_lines(before, after)
    ]


def test_a_fault_in_a_library_is_put_to_the_line_that_called_it() -> None:
    before = faulting({("main:9", "copy:20", "libc/memcpy"): 100, ("main:9", "other:40"): 50})
    after = faulting({("main:9", "copy:20", "libc/memcpy"): 700, ("main:9", "other:40"): 60})
    assert told(before, after) == [("copy", 20, 600), ("other", 40, 10)]


def test_code_that_moved_has_not_changed() -> None:
    before = faulting({("main:9", "work:20"): 5_000, ("main:9", "work:30"): 3_000})
    after = faulting({("main:12", "work:23"): 5_001, ("main:12", "work:25"): 900, ("main:12", "work:35"): 3_000})
    assert told(before, after) == [("work", 25, 900), ("work", 23, 1)]


def test_a_heavy_new_line_before_an_old_one_is_the_new_one() -> None:
    before = faulting({("work:20",): 1_000})
    after = faulting({("work:20",): 2_000, ("work:22",): 1_000})
    assert told(before, after) == [("work", 20, 2_000)]


def test_a_generated_function_of_very_many_lines_is_compared_by_the_numbers_of_its_lines() -> None:
    lines = range(1, 20_001)
    before = faulting({(f"work:{line}",): 10 for line in lines})
    after = faulting({(f"work:{line}",): 10 if line != 700 else 90 for line in (*lines, 20_001)})
    assert told(before, after) == [("work", 700, 80), ("work", 20_001, 10)]


def test_the_same_program_in_another_folder_is_the_same() -> None:
    stacks = {("main:9", "copy:20"): 100}
    assert told(faulting(stacks, "/builds/a/program"), faulting(stacks, "/builds/b/program")) == []


def test_stacks_are_ordered_from_what_grew_to_what_shrank() -> None:
    before = faulting({("main:1", "a:2"): 10, ("main:1", "b:3"): 10, ("main:1", "c:4"): 7})
    after = faulting({("main:1", "a:5"): 25, ("main:1", "b:3"): 10, ("main:1", "d:6"): 9})
    found = [(one.frames[-1].function, one.frames[-1].line, one.change) for one in compare_stacks(before, after)]
    assert found == [("a", 5, WeightChange(10, 25)), ("d", 6, WeightChange(0, 9)), ("c", 4, WeightChange(7, 0))]


def test_what_can_be_chance_of_the_recording_is_no_change() -> None:
    sides = [faulting({("a:2",): weight, ("b:3",): 1_000}) for weight in (50, 90)]
    sampled = [one.faults.model_copy(update={"period": 25, "samples": 40}) for one in sides if one.faults]
    assert told(*(one.model_copy(update={"faults": faults}) for one, faults in zip(sides, sampled, strict=True))) == []
    assert told(*sides) == [("a", 2, 40)]
