"""Recognises that the dynamic linker copies many pages of the program to write addresses into them."""

from __future__ import annotations

import re
from collections import Counter

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_amount
from runner.contract.profile import Memory
from service.rules.diagnose.profile_facts import Facts, compute_cpu_share
from service.rules.diagnose.rule import Rule

MIN_RELOCATED_PAGES = 512
"""Relocations are a cause if the dynamic linker touches at least this many data pages of one file: 2 MiB."""
MIN_RELOCATED_SHARE = 0.2
"""Smallest share of these pages in all faults: with less, the start does not dominate the program."""
MIN_ADDITIONAL_PAGES = 64
"""Relocations explain a change if there are at least this many more relocated pages, in all files, than before."""
_LINKER = re.compile(r"(?:^|/)ld(?:-linux[\w.-]*|-musl[\w.-]*|64|-[\d.]+)?\.so[\d.]*$")
_LOADING = re.compile(r"_?dl_open\w*|dlm?open\w*")
_RELOCATING = re.compile(r"_dl_relocate_object\w*|_dl_relocate_static_pie|elf_dynamic_do_Rela?|elf_machine_rela\w*")


def _rank_relocated_files(facts: Facts) -> list[tuple[str, int]]:
    """Return each file with the number of its data pages that the dynamic linker touches, largest number first."""
    sums: Counter[str] = Counter()
    for site in facts.anatomy.sites:
        if site.memory is Memory.FILE_DATA and _LINKER.search(site.frame.module):
            sums[site.file] += site.faults
    return sums.most_common()


def _count_relocated_pages(facts: Facts) -> int:
    return sum(pages for _, pages in _rank_relocated_files(facts))


def _count_additional_pages(facts: Facts) -> int:
    """Return how many more pages are relocated than before the change; all pages if there is no earlier profile."""
    return _count_relocated_pages(facts) - (0 if facts.before is None else _count_relocated_pages(facts.before))


def _relocates_much(facts: Facts) -> bool:
    """Return whether a file has many relocated pages; after a change, whether all files together have many more."""
    if facts.before is not None:
        return _count_additional_pages(facts) >= MIN_ADDITIONAL_PAGES
    pages = max((pages for _, pages in _rank_relocated_files(facts)), default=0)
    return pages >= MIN_RELOCATED_PAGES and pages >= MIN_RELOCATED_SHARE * facts.faults


def _estimate_start_saving(facts: Facts) -> float | None:
    """Return the share of the CPU time that writing addresses takes, including the faults; None if it is unknown.

    After a change, only pages that were not relocated before count.
    """
    if not facts.timed or not facts.faults:
        return None
    relocated_pages = _count_relocated_pages(facts)
    cost = max(compute_cpu_share(facts.profile, _RELOCATING), facts.estimate_cost(relocated_pages))
    return cost * _count_additional_pages(facts) / relocated_pages if relocated_pages else 0.0


def _describe_relocations(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the number of pages that the dynamic linker touches, and the files with most of them."""
    relocated_pages = _count_relocated_pages(facts)
    before = "" if facts.before is None else f"{_count_relocated_pages(facts.before):,} → "
    files = _rank_relocated_files(facts)
    size = format_amount(relocated_pages * facts.page_size)
    costly_pages = "these pages" if facts.before is None else "the additional pages"
    return (
        f"the dynamic linker touches {before}{relocated_pages:,} data pages ({size}) of the program and its libraries; "
        "each page that it writes addresses to is copied",
        "most of them: " + ", ".join(f"{file.rpartition('/')[2]} {number:,}" for file, number in files[:3]),
        f"touching and copying {costly_pages} takes {facts.format_cost(_estimate_start_saving(facts) or 0)} of the CPU "
        "time",
    )


def _suggest_fewer_relocations(facts: Facts) -> tuple[Remedy, ...]:
    """Return the remedies for the file with the most relocated pages, which is the program itself or a library."""
    (most_relocated_file, _), *_ = _rank_relocated_files(facts)
    is_library = ".so" in most_relocated_file
    link_text = (
        "load the library only where it is used (dlopen), or export less of it (-fvisibility=hidden, -Bsymbolic)"
    )
    if not is_library:
        link_text = "link the program statically or without -pie, so that its own addresses are known at link time"
    one_process = Remedy(text="use one process that keeps running or forks, instead of one process for each task")
    other_remedies = (
        Remedy(text=link_text),
        Remedy(text="keep addresses out of large constant tables: offsets or arrays of characters need no relocation"),
    )
    if _is_loaded_by_program(facts):
        return (Remedy(text="load each library once, and keep it loaded instead of calling dlclose"), other_remedies[1])
    if facts.before is not None and facts.anatomy.forks > facts.before.anatomy.forks:
        return (one_process, *other_remedies)
    return (*other_remedies, one_process)


def _is_loaded_by_program(facts: Facts) -> bool:
    """Return whether most faults of the dynamic linker happen while the running program loads a library."""
    loading_faults = linker_faults = 0
    for stack in facts.profile.faults.stacks if facts.profile.faults else ():
        frames = [facts.profile.frames[index] for index in stack.frames]
        if frames and _LINKER.search(frames[-1].module):
            linker_faults += stack.weight
            loading_faults += stack.weight * any(_LOADING.fullmatch(frame.function) for frame in frames)
    return 2 * loading_faults > linker_faults


RELOCATIONS = Rule(
    name="relocations",
    title="Pages are copied so that addresses can be written into them",
    condition=_relocates_much,
    max_saving=_estimate_start_saving,
    evidence=_describe_relocations,
    remedies=_suggest_fewer_relocations,
    report="large position-independent executables: megabytes of tables are copied at every start",
    is_comparison=True,
    count=_count_relocated_pages,
)
