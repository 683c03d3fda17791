import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from runner.adoption.action_reference import PLACEHOLDER
from runner.adoption.ci_files import detect_ci, render_ci_file
from runner.ci.registry import CI_SYSTEMS
from runner.errors import FaultwatchError
from tests.runner.adoption.listings import listing
from tests.runner.commands import git

ROOT = Path(__file__).parents[3]
FILES = {
    ".github/workflows/ci.yml": "github-hosted",
    ".gitlab-ci.yml": "gitlab",
    ".forgejo/workflows/x.yml": "forgejo",
    ".gitea/workflows/x.yml": "forgejo",
    "Jenkinsfile": "jenkins",
    "README": "shell",
}


@pytest.mark.parametrize(("file", "ci"), FILES.items())
def test_a_ci_system_is_recognised_by_its_file(file: str, ci: str) -> None:
    assert detect_ci(listing({file: ""})) == ci


@pytest.mark.parametrize(
    ("remote", "ci"),
    [
        ("https://github.com/a/b", "github-hosted"),
        ("git@gitlab.example.org:a/b.git", "gitlab"),
        ("ssh://git@codeberg.org/a/b", "forgejo"),
        ("https://gitlab-user:token@github.com/a/b", "github-hosted"),
        ("https://token@gitlab.com:8443/a/b", "gitlab"),
        ("ssh://git@codeberg.org:22/a@b", "forgejo"),
        ("/srv/github/mirror", "shell"),
        ("https://example.org/github.com/a", "shell"),
        ("", "shell"),
    ],
)
def test_without_a_file_the_address_of_the_remote_decides(remote: str, ci: str) -> None:
    assert detect_ci(listing({}), remote) == ci


def test_of_two_files_the_address_decides() -> None:
    both = listing({".gitlab-ci.yml": "", ".github/workflows/ci.yml": ""})
    assert detect_ci(both, "https://gitlab.com/a/b") == "gitlab"
    assert detect_ci(both, "https://github.com/a/b") == "github-hosted"
    assert detect_ci(both, "https://example.org/a/b") == "github-hosted"


def test_who_has_to_replace_the_owner_of_the_action_is_told_in_the_files_and_the_terminal() -> None:
    file = render_ci_file("github-hosted", listing({}), action=PLACEHOLDER)
    assert file
    assert file.second
    for text in (file.text, file.second.text):
        assert "      # TODO: replace OWNER with" in text.partition("      - uses: OWNER/faultwatch@v1\n")[0]
    assert file.remark.startswith("replace OWNER with ")


def test_an_action_that_is_known_stands_in_both_files() -> None:
    action = "example/faultwatch@" + "1" * 40
    file = render_ci_file("github-hosted", listing({}), action=action)
    assert file
    assert file.second
    for text in (file.text, file.second.text, file.remark):
        assert "OWNER" not in text
    assert f"- uses: {action}\n" in file.text
    assert f"- uses: {action}\n" in file.second.text


@pytest.mark.parametrize("ci", [name for name in CI_SYSTEMS if name != "github-hosted"])
def test_each_file_runs_the_gate_with_the_workload(ci: str) -> None:
    file = render_ci_file(ci, listing({}), workload="faultwatch/workload.toml", branch="trunk")
    assert file
    assert "faultwatch gate --repo . --output" in file.text
    assert '-- faultwatch/workload.toml "' in file.text
    assert "@WORKLOAD@" not in file.text
    assert "@BRANCH@" not in file.text
    if file.path.endswith(".yml"):
        assert yaml.safe_load(file.text)
    assert ("origin/trunk" in file.text) is (ci == "shell")


def test_a_workload_in_a_folder_that_begins_with_a_sign_of_yaml_reaches_the_action() -> None:
    file = render_ci_file("github-hosted", listing({}), workload="@scope/app/workload.toml", action=PLACEHOLDER)
    assert file
    step = yaml.safe_load(file.text)["jobs"]["gate"]["steps"][-1]
    assert step["with"] == {"workload": "@scope/app/workload.toml"}


def test_on_a_machine_of_github_the_action_measures_and_a_second_workflow_comments_on_forks() -> None:
    file = render_ci_file("github-hosted", listing({}), workload="faultwatch/workload.toml", action=PLACEHOLDER)
    assert file
    assert file.second
    gate, comment = (yaml.safe_load(text) for text in (file.text, file.second.text))
    measured, written = gate["jobs"]["gate"], comment["jobs"]["comment"]
    assert measured["runs-on"] == "ubuntu-latest"
    assert measured["steps"][-1]["uses"] == written["steps"][-1]["uses"] == PLACEHOLDER
    assert measured["steps"][-1]["with"] == {"workload": "faultwatch/workload.toml"}
    # To YAML 1.1 the key "on" is a truth.
    assert comment[True]["workflow_run"]["workflows"] == [gate["name"]]


def test_the_comment_on_a_fork_runs_nothing_of_it_and_may_do_nothing_else() -> None:
    second = render_ci_file("github-hosted", listing({}), action=PLACEHOLDER).second
    workflow = yaml.safe_load(second.text)
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {}
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert "checkout" not in second.text
    assert not any("run" in step for step in job["steps"])


def test_folders_that_the_build_reads_reach_the_action() -> None:
    file = render_ci_file("github-hosted", listing({}), readable=("/opt/a", "/opt/b"))
    assert yaml.safe_load(file.text)["jobs"]["gate"]["steps"][-1]["with"]["readable"] == "/opt/a:/opt/b"


def test_gitlab_names_the_tip_and_not_the_merge_base_which_the_author_chooses() -> None:
    job = yaml.safe_load(render_ci_file("gitlab", listing({})).text)["faultwatch"]
    assert '"origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME..' in job["script"][-1]
    assert job["variables"]["GIT_DEPTH"] == "0", "only then GitLab's runner fetches that branch"


def test_gitlab_reads_every_file_that_its_job_writes() -> None:
    job = yaml.safe_load(render_ci_file("gitlab", listing({})).text)["faultwatch"]
    script = job["script"][-1]
    reports = job["artifacts"]["reports"]
    assert f"--junit {reports['junit']} " in script
    assert f"--code-quality {reports['codequality']} " in script
    assert f"--output {job['artifacts']['paths'][0]} " in script


def test_existing_pipelines_stay_and_the_remark_says_how_to_include_ours() -> None:
    file = render_ci_file("gitlab", listing({".gitlab-ci.yml": ""}))
    assert file
    assert file.path == ".gitlab/faultwatch.yml"
    assert "include: {local: .gitlab/faultwatch.yml}" in file.remark
    file = render_ci_file("jenkins", listing({"Jenkinsfile": ""}))
    assert file
    assert file.path == "Jenkinsfile.faultwatch"


def test_the_actions_are_those_of_the_projects_own_gate() -> None:
    def actions(text: str) -> set[str]:
        return set(re.findall(r"uses: (\S+@[0-9a-f]{40} # \S+)", text))

    file = render_ci_file("github", listing({}))
    assert file
    assert actions(file.text) == actions((ROOT / ".github/workflows/gate.yml").read_text(encoding="utf-8"))


def test_the_documents_show_the_file_that_init_writes() -> None:
    file = render_ci_file("github", listing({}))
    assert file
    page = (ROOT / "docs/how-to/gate.md").read_text(encoding="utf-8")
    assert f"```yaml\n{file.text}```\n" in page


def test_the_service_can_start_the_workflow_of_github_with_what_it_sends() -> None:
    file = render_ci_file("github", listing({}))
    assert file
    triggers = yaml.safe_load(file.text)[True]  # To YAML 1.1 the key "on" is a truth.
    assert set(triggers["workflow_dispatch"]["inputs"]) == {"base", "head"}
    (step,) = (step for step in yaml.safe_load(file.text)["jobs"]["gate"]["steps"] if step.get("id") == "gate")
    assert step["env"]["BASE"].startswith("${{ inputs.base || ")
    assert step["env"]["HEAD"].startswith("${{ inputs.head || ")


def test_the_shell_script_is_one_that_shellcheck_accepts(tmp_path: Path) -> None:
    file = render_ci_file("shell", listing({}))
    assert file
    assert file.executable
    (tmp_path / "gate.sh").write_text(file.text)
    subprocess.run(["sh", "-n", tmp_path / "gate.sh"], check=True)
    try:
        subprocess.run(["shellcheck", tmp_path / "gate.sh"], check=True)
    except FileNotFoundError:
        pytest.skip("shellcheck is not installed")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script in a repository with two commits on main; instead of the command, one that prints its words."""
    file = render_ci_file("shell", listing({}))
    assert file
    folder = tmp_path / "repo"
    folder.mkdir()
    place = folder / file.path
    place.write_text(file.text)
    place.chmod(0o755)
    command = tmp_path / "bin" / "faultwatch"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\necho "$@"\n')
    command.chmod(0o755)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    commit(folder)
    return place


def commit(folder: Path) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "Any")


def compared(script: Path, *words: str) -> str:
    """Return the range that the script has compared."""
    path = f"{script.parents[1] / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [script, *words], cwd=script.parent, check=True, capture_output=True, text=True, env={"PATH": path}
    )
    return done.stdout.split()[-1]


def test_the_shell_script_compares_with_the_branch_there_or_here_or_with_the_commit_before(script: Path) -> None:
    folder = script.parent
    assert compared(script) == "HEAD~1..HEAD", "no remote, on the branch itself"
    git(folder, "checkout", "--quiet", "-b", "topic")
    commit(folder)
    assert compared(script) == "main..HEAD"
    git(folder, "update-ref", "refs/remotes/origin/main", "main")
    assert compared(script) == "origin/main..HEAD"
    git(folder, "checkout", "--quiet", "main")
    commit(folder)
    assert compared(script) == "origin/main..HEAD", "what is not pushed yet"
    assert compared(script, "v1.0") == "v1.0..HEAD"


@pytest.mark.parametrize("file", [".travis.yml", ".circleci/config.yml", "appveyor.yml"])
def test_the_shell_script_is_explained_where_another_ci_is_used(file: str) -> None:
    other = render_ci_file("shell", listing({file: ""}))
    assert other
    assert "init cannot write a CI file for " in other.remark
    assert f"({file}): call the script from your CI job" in other.remark
    none = render_ci_file("shell", listing({"README": ""}))
    assert none
    assert "no CI system was found" in none.remark


@pytest.mark.parametrize("ci", CI_SYSTEMS)
def test_what_the_gates_sandbox_has_to_show_is_set_only_where_there_is_something(ci: str) -> None:
    with_folders = render_ci_file(ci, listing({}), readable=("~/.cargo/registry", "/opt/x"))
    assert with_folders
    assert re.search(r"(FAULTWATCH_SANDBOX_READ|readable)(: |=)~/.cargo/registry:/opt/x\n", with_folders.text)
    without = render_ci_file(ci, listing({}))
    assert without
    assert "SANDBOX_READ" not in without.text
    assert "readable" not in without.text
    assert "Folders outside" not in without.text
    with pytest.raises(FaultwatchError, match="cannot be written"):
        render_ci_file(ci, listing({}), readable=("/opt/x; rm",))


def test_no_name_of_a_branch_becomes_a_command() -> None:
    with pytest.raises(FaultwatchError, match="cannot be written"):
        render_ci_file("shell", listing({}), branch="a;b")


WITH_SUBMODULES = {".gitmodules": ""}


@pytest.mark.parametrize("ci", CI_SYSTEMS)
def test_submodules_are_fetched_of_base_and_never_of_a_strangers_head(ci: str) -> None:
    without, text = (render_ci_file(ci, listing(files)).text for files in ({}, WITH_SUBMODULES))
    assert "submodule" not in without.replace("GIT_SUBMODULE_STRATEGY: none", "")
    assert "@" not in re.sub(r"@v4|@v1|@[0-9a-f]{40}", "", text)
    if ci in {"github-hosted", "github", "forgejo"}:
        base, head = (step["with"] for step in yaml.safe_load(text)["jobs"]["gate"]["steps"] if "checkout" in str(step))
        assert "base.sha" in base["ref"]
        assert "head" not in base["ref"]
        assert base["submodules"] == "recursive"
        own = "github.event.pull_request.head.repo.full_name == github.repository"
        assert head["submodules"] == f"${{{{ {own} && 'recursive' || 'false' }}}}"
    elif ci != "shell":
        before, after = text.split("git submodule update --init --recursive")
        assert re.search(r'git checkout .*(DIFF_BASE_SHA|CHANGE_TARGET)"\n', before)
        assert re.search(r'git checkout .*(COMMIT_SHA|head)"\n', after)


def test_the_submodules_of_base_are_what_a_job_fetches(tmp_path: Path) -> None:
    """As a shell runs the job's lines, for a head that names another address."""
    library, subject, clone = (tmp_path / name for name in ("library", "subject", "clone"))
    for folder in (library, subject):
        git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
        (folder / "file").write_text("")
        git(folder, "add", "file")
        git(folder, "commit", "--quiet", "--message", "First")
    allowed = ("-c", "protocol.file.allow=always")
    git(subject, *allowed, "submodule", "--quiet", "add", str(library), "library")
    git(subject, "commit", "--quiet", "--message", "A submodule")
    base = git(subject, "rev-parse", "HEAD").strip()
    (subject / ".gitmodules").write_text(
        f'[submodule "library"]\n\tpath = library\n\turl = {library}\n'
        f'[submodule "evil"]\n\tpath = evil\n\turl = {tmp_path}/evil\n'
    )
    git(subject, "update-index", "--add", "--cacheinfo", f"160000,{base},evil")
    git(subject, "add", ".gitmodules")
    git(subject, "commit", "--quiet", "--message", "Another")
    git(tmp_path, "clone", "--quiet", str(subject), str(clone))
    head = git(clone, "rev-parse", "HEAD").strip()
    script = yaml.safe_load(render_ci_file("gitlab", listing(WITH_SUBMODULES)).text)["faultwatch"]["script"][:-1]
    variables = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_COMMIT_SHA": head}
    variables |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}
    lines = "\n".join(("set -e", *script))
    subprocess.run(["sh", "-c", lines], cwd=clone, env=os.environ | variables, check=True, capture_output=True)
    assert [place.name for place in (clone / ".git" / "modules").iterdir()] == ["library"]
    assert git(clone, "rev-parse", "HEAD").strip() == head


def test_only_pull_requests_of_the_repository_itself_reach_the_service() -> None:
    for text in (render_ci_file("github", listing({})).text, (ROOT / ".github/workflows/gate.yml").read_text()):
        (line,) = re.findall("FAULTWATCH_URL: .*", text)
        assert "github.event.pull_request.head.repo.full_name == github.repository" in line
        assert ".fork" not in line


def test_what_a_head_has_of_the_names_of_results_is_no_result() -> None:
    for ci in ("gitlab", "jenkins"):
        text = render_ci_file(ci, listing({})).text
        written = set(re.findall(r"--(?:output|junit|code-quality) (\S+)", text))
        (removed,) = re.findall(r"rm -rf (.*?) #", text)
        assert set(removed.split()) == written
        assert text.index("rm -rf") < text.index("faultwatch gate --repo")
    assert "followSymlinks: false" in text
