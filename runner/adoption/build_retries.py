"""Chooses how a build that failed is tried again."""

from runner.adoption.header_folders import add_header_folder
from runner.adoption.proposal import BuildProposal, make_build_serial
from runner.adoption.sources import Sources
from runner.adoption.systems.cmake import build_release, raise_cxx_standard, switch_part_off
from runner.adoption.systems.go import complete_sums
from runner.adoption.systems.lenient_compilers import accept_rejected_code
from runner.adoption.systems.make_compilers import replace_foreign_options, replace_missing_compiler
from runner.adoption.tool_environment import add_found_tool
from runner.subject.build import BuildFailure
from runner.subject.missing_packages import MissingPart


def list_build_retries(
    sources: Sources, proposal: BuildProposal, failure: Exception, part: MissingPart | None
) -> list[BuildProposal]:
    """Return variants of a failed build that may work.

    The variants: with a tool from a folder outside the build's ``PATH``; with the folder of a missing header; with this
    host's compiler in place of a missing one; without the options of another compiler; with those that make it accept
    old code; with one job, because not every makefile supports several; with a ``go.sum`` that Go completes; and
    without the part that needs a missing library. If a tool is elsewhere on this host, if the code needs a later
    standard of C++, options that only releases get, or a compiler that accepts old code, if a compiler is missing, or
    if its options are those of another one, only the variant for this is tried.

    Parameters
    ----------
    part
        What the build lacks on this host; None if unknown. If it is known, a build with one job would fail too.
    """
    log = failure.build.log if isinstance(failure, BuildFailure) else ""
    serial_build = make_build_serial(proposal) if part is None else None
    reduced_build = switch_part_off(proposal, sources, part.name) if part else None
    # If one of these is possible, the others would fail as the given build has.
    replaced_build = (
        (add_found_tool(proposal, part) if part else None)
        or build_release(proposal, log)
        or raise_cxx_standard(proposal, log)
        or replace_missing_compiler(proposal, sources, log)
        or replace_foreign_options(proposal, sources, log)
        or accept_rejected_code(proposal, sources, log)
    )
    if replaced_build:
        return [replaced_build]
    candidates = (add_header_folder(proposal, log), serial_build, complete_sums(proposal, log), reduced_build)
    return [candidate for candidate in candidates if candidate]
