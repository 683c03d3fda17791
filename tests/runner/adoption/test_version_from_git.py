"""A version that is read from git is in the bytes of a program, so each commit would have another program."""

import pytest

from runner.adoption.build_system_detection import propose_builds
from runner.adoption.proposal import RunProposal
from runner.adoption.version_from_git import describe_version
from runner.adoption.workload_text import render_workload
from tests.runner.adoption.listings import listing

FIXABLE = {
    "SETUPTOOLS_SCM_PRETEND_VERSION": [
        ("pyproject.toml", '[build-system]\nrequires = ["setuptools-scm>=8"]\n[project]\nname = "p"\n'),
        ("pyproject.toml", '[build-system]\nrequires = ["hatchling", "hatch-vcs"]\n[project]\nname = "p"\n'),
        ("setup.py", 'setup(use_scm_version=True, setup_requires=["setuptools_scm"])\n'),
    ],
    "PDM_BUILD_SCM_VERSION": [("pyproject.toml", '[project]\nname = "p"\n[tool.pdm.version]\nsource = "scm"\n')],
    "PBR_VERSION": [("setup.py", 'setup(setup_requires=["pbr>=2"], pbr=True)\n')],
}
READS_GIT = [
    ("Makefile", "VERSION = $(shell git -C . describe --tags)\nall:\n"),
    ("CMakeLists.txt", "execute_process(COMMAND git rev-parse HEAD)\n"),
    ("meson.build", "project('x', 'c')\nvcs_tag(input: 'v.in', output: 'v')\n"),
]


@pytest.mark.parametrize(
    ("variable", "file", "text"), [(name, *sample) for name, samples in FIXABLE.items() for sample in samples]
)
def test_a_version_that_a_variable_sets_is_fixed_and_no_history_is_read(variable: str, file: str, text: str) -> None:
    sources = listing({file: text, "p/__init__.py": ""})
    proposals = propose_builds(sources)
    assert proposals
    for proposal in proposals:
        written = render_workload("x", proposal, RunProposal("./x"))
        assert f'{variable} = "1.0.0"' in written
        assert "git = true" not in written
        assert variable in describe_version(sources, proposal.environment, git=False)
    # A file that somebody wrote before is not changed, but the way out is named.
    assert f'Write {variable} = "1.0.0"' in describe_version(sources, {}, git=True)


@pytest.mark.parametrize(("file", "text"), READS_GIT)
def test_a_build_that_cannot_do_without_the_history_gets_it_and_init_says_what_that_means(file: str, text: str) -> None:
    sources = listing({file: text})
    proposal = propose_builds(sources)[0]
    assert "\ngit = true\n" in render_workload("x", proposal, RunProposal("./x"))
    said = describe_version(sources, proposal.environment, git=True)
    assert "a count can change by one fault even if no code changes" in said
    assert "budget = {minor-faults = 1}" in said


def test_a_build_without_a_version_gets_neither() -> None:
    sources = listing({"Makefile": "all:\n\tgit status\n"})
    proposal = propose_builds(sources)[0]
    assert not proposal.git
    assert not proposal.environment
    assert not describe_version(sources, proposal.environment, git=False)


def test_where_another_script_reads_the_history_too_the_build_gets_both() -> None:
    sources = listing({"pyproject.toml": 'requires = ["setuptools-scm"]', "setup.py": 'run("git describe --tags")'})
    proposal = propose_builds(sources)[0]
    assert proposal.git
    assert "SETUPTOOLS_SCM_PRETEND_VERSION" in proposal.environment
    assert "budget" in describe_version(sources, proposal.environment, git=True)
