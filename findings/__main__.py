"""``make findings PROJECT=name``: repeat a project's history on this machine, and compare with the stored drifts.

The history goes through the command line of Faultwatch. What is measured stays in ``build/findings/PROJECT``, so that
an interrupted repetition continues; remove that folder to begin again. ``--store`` writes the drifts instead: each one
of 1 % or more is proven by a bisect, and counted by hand before and after, a server over its windows.
"""

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from findings import by_hand, pictures, releases, stored
from findings.documents import only_documents
from findings.local import forget_services
from findings.product import Product, drifts_of
from findings.repeated_drifts import Line, compare
from findings.repository import clone, git
from findings.stored import ByHand, Culprit, Documents, Drift, History, Machine, Target

ROOT = Path(__file__).parents[1]


def main(arguments: Sequence[str]) -> int:
    """Repeat or store the history of one project; return the exit code."""
    names = stored.projects()
    parser = argparse.ArgumentParser(prog="make findings")
    parser.add_argument("project", choices=names, metavar="PROJECT", help=", ".join(names))
    parser.add_argument(
        "repository", nargs="?", metavar="REPO", help="a clone, or an address other than the stored one"
    )
    parser.add_argument("--store", action="store_true", help="write what is found, instead of comparing with it")
    chosen = parser.parse_args(arguments)
    if not chosen.store and chosen.project not in stored.measured():
        parser.error(f"nothing is stored of {chosen.project} to compare with: measure it with --store")
    forget_services()
    target = stored.load_target(chosen.project)
    folder = ROOT / "build" / "findings" / chosen.project
    product = Product(home=folder / "home", workload=stored.folder_of(chosen.project), repository=folder / "clone")
    _prepare_repository(product, target, chosen.repository or target.address)
    found = _measure_history(product, target)
    charts = ROOT / "docs" / "images" / "findings" if chosen.store else folder / "charts"
    for file in pictures.save(product.home, (drift.case for drift in found.drifts if drift.is_large), charts):
        print(file, flush=True)
    if chosen.store:
        stored.save(
            chosen.project,
            replace(found, drifts=tuple(_confirm_drift(product, drift, target.options) for drift in found.drifts)),
        )
        return 0
    lines = compare(stored.load(chosen.project), found)
    _show_history(found, lines)
    return 0 if all(line.verdict.holds for line in lines) else 1


def _prepare_repository(product: Product, target: Target, address: str) -> None:
    """Get the repository of a project, with a commit for each release where releases are measured."""
    if not address:
        releases.pack(product.workload / "release.sh", product.repository, target.releases)
        return
    clone(address, target.range or f"{target.releases[0]}..{target.releases[-1]}", product.repository)
    if target.releases:
        releases.chain(product.repository, target.releases)


def _measure_history(product: Product, target: Target) -> History:
    document = product.history(target.span, target.options)
    drifts = drifts_of(document)
    documents = _list_document_commits(product.repository, target)
    return History(
        address=target.address,
        range=target.range,
        options=target.options,
        releases=target.releases,
        machine=_describe_machine(product),
        counts=product.counts(_list_revisions(product.repository, target)),
        documents=Documents(
            commits=len(documents), flagged=sum(drift.commit in documents for drift in drifts if not drift.candidates)
        ),
        drifts=drifts,
    )


def _describe_machine(product: Product) -> Machine:
    """Describe the tools that the workload needs, the C library and the kernel."""
    build = tomllib.loads((product.workload / "workload.toml").read_text())["build"]
    path = build.get("environment", {}).get("PATH", "/usr/local/bin:/usr/bin:/bin").replace("{home}", str(Path.home()))
    settings = product.settings()
    return Machine(
        compiler="; ".join(_read_version(tool, path) for tool in build["needs"]),
        libc=settings["libc.version"].partition(",")[0].removesuffix(")").replace(" (libc.so.6", ""),
        kernel=settings["kernel.release"].partition("-")[0],
        path_length=int(settings["process.path_length"]),
    )


def _read_version(tool: str, path: str) -> str:
    words = [tool, "version" if tool == "go" else "--version"]
    result = subprocess.run(words, env={"PATH": path}, check=True, capture_output=True, text=True)
    return result.stdout.splitlines()[0]


def _list_revisions(repository: Path, target: Target) -> frozenset[str]:
    """Return the commits that the history measures."""
    path = () if "--all-parents" in target.options else ("--first-parent",)
    return frozenset(git(repository, "rev-list", *path, target.span).split())


def _list_document_commits(repository: Path, target: Target) -> set[str]:
    """Return the commits of the range that change documents only; a merge by what it brings to its first parent."""
    path = () if "--all-parents" in target.options else ("--first-parent",)
    words = ("--diff-merges=first-parent", "--name-only", "-z", "--format=%x00%H", *path, target.span)
    # With -z, no name is quoted. Two NULs part the commits, and a NUL and a newline precede the first name of each.
    entries = git(repository, "log", *words).strip("\0").split("\0\0")
    commits = (entry.replace("\0\n", "\0", 1).split("\0") for entry in entries)
    return {commit for commit, *names in commits if only_documents(names)}


def _confirm_drift(product: Product, drift: Drift, options: Sequence[str]) -> Drift:
    """Have a drift proven by the product, and count its commits by hand; leave a small one as it is."""
    if drift.is_large:
        drift = product.prove(drift, options)
    return replace(
        drift, candidates=(), culprits=tuple(_count_by_hand(product, drift.case, culprit) for culprit in drift.culprits)
    )


def _count_by_hand(product: Product, case: str, culprit: Culprit) -> Culprit:
    """Add the subject of a commit, and what is counted without the product."""
    subject = git(product.repository, "show", "--no-patch", "--format=%s", culprit.commit).strip()
    if not culprit.is_large:
        return replace(culprit, subject=subject)
    before, after = (
        by_hand.count(product.workload, product.repository, commit, case) for commit in (culprit.parent, culprit.commit)
    )
    return replace(culprit, subject=subject, by_hand=ByHand(before, after))


def _show_history(found: History, lines: Sequence[Line]) -> None:
    counts = found.counts
    print(
        f"{counts.revisions} revisions: {counts.measured} measured, {counts.failed} failed, "
        f"{counts.not_judged} runs not judged, {counts.seconds} s. "
        f"{found.documents.commits} change documents only: {found.documents.flagged} of them flagged."
    )
    table = Table("commit", "case", "stored", "found", "verdict", box=None)
    for line in lines:
        drift = line.stored or line.found
        if drift and (drift.is_large or not line.verdict.holds):
            commits = ", ".join(sorted(commit[:10] for commit in drift.causes))
            table.add_row(commits, drift.case, _format_size(line.stored), _format_size(line.found), line.verdict.value)
    Console(markup=False).print(table)
    disagreed = sum(not line.verdict.holds for line in lines)
    print(f"{len(lines)} drifts: {disagreed} disagree." if disagreed else f"{len(lines)} drifts: all agree.")


def _format_size(drift: Drift | None) -> str:
    return f"{drift.before:,} → {drift.after:,}" if drift else "–"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
