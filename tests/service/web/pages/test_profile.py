"""Profiles on pages: one, two side by side, and the list."""

from __future__ import annotations

import uuid

import pytest
from flask.testing import FlaskClient

from runner.contract.code_change import ChangedCode, ChangeFromCommit
from runner.contract.profile import AllocatingLine, Memory, PythonLine, StackKind, Touch
from runner.contract.report import Reading
from service.web.rendering.profile_view import build_stack_link
from tests.service.profiles import anatomy, profile, stacks
from tests.service.rules.diagnose.test_difference_causes import new, profiled
from tests.service.web.application import application
from tests.service.web.profiled import AFTER, BEFORE, FRAMES, sent
from tests.service.web.text import read


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    with application(tmp_path_factory.mktemp("profiles")) as app:
        return sent(app)


def test_a_profile_says_what_it_shows_with_sums(client: FlaskClient) -> None:
    page = read(client, f"/profiles/{AFTER.profile_id}")
    assert "Returned memory is touched again" in page
    assert "after madvise 51,201 Total count 51,201" in page
    assert "madvise 51" in page
    for form in ("folded", "speedscope", "pprof"):
        assert f"/faults.{form}" in client.get(f"/profiles/{AFTER.profile_id}").text


def test_the_lines_for_which_a_runtime_faults_are_shown(client: FlaskClient) -> None:
    line = PythonLine(file="serve.py", function="handle", line=10, faults=9_000)
    allocating_line = AllocatingLine(file="Load.java", function="Load.main", line=6, bytes=64 << 20)
    lines = {"profile_id": uuid.uuid4(), "python_lines": (line,), "java_lines": (allocating_line,)}
    profile = AFTER.model_copy(update=lines)
    address = f"/profiles/{profile.profile_id}"
    assert client.put(f"/api/v1{address}", json=profile.model_dump(mode="json")).status_code == 201
    page = read(client, address)
    assert "serve.py:10 handle 9,000" in page
    assert "Load.java:6 Load.main 64 MiB" in page


def test_one_fault_is_written_in_the_singular(client: FlaskClient) -> None:
    single = profile(
        anatomy({Touch.FIRST: 1}, Memory.ANONYMOUS), faults=stacks(StackKind.FAULTS, {(0,): 1}), profile_id=uuid.uuid4()
    )
    assert client.put(f"/api/v1/profiles/{single.profile_id}", json=single.model_dump(mode="json")).status_code == 201
    assert "Anatomy of the faults 1 fault on 100 pages" in read(client, f"/profiles/{single.profile_id}")


def test_a_difference_that_can_be_chance_is_said_to_be_so_before_its_causes(client: FlaskClient) -> None:
    for number, (n_faults, n_counted) in enumerate(((210, 202), (196, 196))):
        readings = {"page-faults": Reading(value=n_counted)}
        update = {"profile_id": uuid.UUID(int=number), "readings": readings}
        varying = profiled(new(n_faults)).model_copy(update=update)
        assert (
            client.put(f"/api/v1/profiles/{varying.profile_id}", json=varying.model_dump(mode="json")).status_code
            == 201
        )
    page = read(client, f"/profiles/{uuid.UUID(int=1)}?before={uuid.UUID(int=0)}")
    assert page.index("so this difference can be chance") < page.index("less memory for the first time")


def test_what_the_change_did_stands_above_the_causes_with_the_code_escaped(client: FlaskClient) -> None:
    before, after = (
        profiled(new(n), stacks={(0,): n}).model_copy(update={"profile_id": uuid.uuid4()}) for n in (9, 90)
    )
    code = ChangedCode(file="src/table.c", line=12, line_before=12, text_before="n = 2;", text_after="n = a<b>;")
    change = ChangeFromCommit(
        base=before.revision.commit, changed_lines={"src/table.c": ((12, 12),)}, changed_code=(code,)
    )
    after = after.model_copy(update={"change": change})
    for each in (before, after):
        address = f"/api/v1/profiles/{each.profile_id}"
        assert client.put(address, json=each.model_dump(mode="json")).status_code == 201
    page = read(client, f"/profiles/{after.profile_id}?before={before.profile_id}")
    sentence = (
        "Of the changed lines, grow at src/table.c:12 gained the most faults: +81. There, n = 2; became n = a<b>; ."
    )
    assert page.index(sentence) < page.index("more memory for the first time")
    markup = client.get(f"/profiles/{after.profile_id}?before={before.profile_id}").text
    assert "There, <code>n = 2;</code> became <code>n = a&lt;b&gt;;</code>." in markup


def test_two_profiles_name_the_line_that_grew(client: FlaskClient) -> None:
    address = f"/profiles/{AFTER.profile_id}?before={BEFORE.profile_id}"
    page = read(client, address)
    assert "answer main.c:25 2,000 51,200 ▲ +49,200" in page
    assert "memcpy ← answer ← main main.c:25 2,000 51,200 ▲ +49,200" in page
    assert build_stack_link(StackKind.FAULTS, FRAMES[:3]) in client.get(address).text
    rows = client.get(f"/profiles/{AFTER.profile_id}.csv?before={BEFORE.profile_id}").text.splitlines()
    assert rows[1] == "answer,copyserve,main.c,25,25,2000,51200,49200"


def test_a_line_that_could_not_be_read_is_not_put_down_to_the_build(client: FlaskClient) -> None:
    frames = [frame.model_copy(update={"file": "", "line": 0}) for frame in FRAMES]
    changes = {"frames": tuple(frames), "remarks": ("copyserve: no source lines could be read",)}
    ids = []
    for one in (BEFORE, AFTER):
        blind = one.model_copy(update={**changes, "profile_id": uuid.uuid4()})
        ids.append(blind.profile_id)
        assert client.put(f"/api/v1/profiles/{ids[-1]}", json=blind.model_dump(mode="json")).status_code == 201
    page = read(client, f"/profiles/{ids[1]}?before={ids[0]}")
    assert "copyserve: no line could be read" in page
    assert "copyserve: no source lines could be read" in page
    assert "without -g" not in page


def test_what_a_program_calls_itself_is_shown_and_not_run(client: FlaskClient) -> None:
    for address in (f"/profiles/{AFTER.profile_id}", f"/profiles/{AFTER.profile_id}?before={BEFORE.profile_id}"):
        assert "<img" not in client.get(address).text


def test_profiles_are_listed(client: FlaskClient) -> None:
    assert "There are no more entries. Show the first ones" in read(client, "/profiles?offset=1000")
    page = read(client, "/profiles")
    assert "51,201 returned-memory" in page
    assert "No matching profile is stored" in read(client, "/profiles?host=elsewhere")


@pytest.mark.parametrize("before", ["0ef70985-9ec2-4858-a79f-9d8def346e6e", "nonsense"])
def test_a_profile_that_is_not_there(client: FlaskClient, before: str) -> None:
    assert client.get(f"/profiles/{AFTER.profile_id}?before={before}").status_code == 404
    assert client.get(f"/profiles/{uuid.uuid4()}").status_code == 404
