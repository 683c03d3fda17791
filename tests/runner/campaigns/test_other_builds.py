"""A difference of two builds is not one of two commits: what further builds of the same commits do not show is none."""

import json
from pathlib import Path

import pytest

from tests.runner.commands import WORKLOAD, faultwatch, make_history

pytestmark = pytest.mark.perf
BUILD = """
if grep -q 'return 0 ' pages.c; then side=base draws={base}; else side=head draws={head}; fi
mkdir -p {counters}
n=$(ls {counters} | grep -c $side); touch {counters}/$side-$n
drawn=$(echo $draws | cut -d, -f$((n + 1)))
sed "s/i < /i < $drawn + /" pages.c >drawn.c && cc -O0 -o pages drawn.c
"""


def drawn(folder: Path, *, base: str, head: str) -> Path:
    """Make a repository of two commits that build to other programs each time: the pages that each build adds."""
    build = json.dumps(["sh", "-c", BUILD.format(base=base, head=head, counters=folder / "counters")])
    make_history(folder / "repo", [10, 10], WORKLOAD.replace('"cc -O0 -o pages pages.c"', build))
    return folder / "repo"


def compare(folder: Path, url: str) -> tuple[int, str]:
    status, output, messages = faultwatch(
        folder / "home", "compare", "HEAD~1..HEAD", "--repo", "repo", url=url, cwd=folder
    )
    return status, output + messages


@pytest.mark.thorough
def test_two_builds_that_differ_by_one_fault_say_nothing_about_their_commits(tmp_path: Path, service_url: str) -> None:
    drawn(tmp_path, base="0,1", head="1,0")
    status, said = compare(tmp_path, service_url)
    assert status == 0, said
    assert "same: other builds" in said
    assert "the counts of the two revisions' builds overlap" in said


@pytest.mark.thorough
def test_a_commit_that_adds_a_fault_to_each_of_its_builds_is_told_from_its_builds(
    tmp_path: Path, service_url: str
) -> None:
    drawn(tmp_path, base="0,1,0", head="3,2,3")
    status, said = compare(tmp_path, service_url)
    assert status == 1, said
    assert "2 further builds of each revision show it as well" in said


def test_two_builds_with_the_same_bytes_need_no_third(tmp_path: Path, service_url: str) -> None:
    make_history(tmp_path / "repo", [10, 11])
    status, said = compare(tmp_path, service_url)
    assert status == 1, said
    assert "Further builds of base and head are byte-identical to the first ones" in said


@pytest.mark.thorough
def test_a_bisect_does_not_prove_what_only_one_build_shows(tmp_path: Path, service_url: str) -> None:
    drawn(tmp_path, base="0,1", head="1,0")
    words = ("bisect", "HEAD~1..HEAD", "--repo", "repo", "--json")
    status, output, messages = faultwatch(tmp_path / "home", *words, url=service_url, cwd=tmp_path)
    assert status == 1, messages
    answer = json.loads(output)["answer"]
    assert answer["kind"] == "refused"
    assert "the counts of the two revisions' builds overlap" in answer["sentence"]
