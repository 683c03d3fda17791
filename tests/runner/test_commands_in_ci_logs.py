"""Commands for CI systems in text of others."""

import io
import json

import pytest

from runner.commands_in_ci_logs import break_commands, break_commands_in_json, guard_stream
from tests.log_readers import commands_in

COMMANDS = [
    "::error::x",
    "  ::add-mask::x",
    "a\n\t::stop-commands::x",
    "a\r::stop-commands::x",
    "##[group]x",
    "a key named ##[set-output name=report;]/etc/shadow",
    "###[group]x",
    "##vso[task.setvariable variable=PATH]x",
    "built ##teamcity[publishArtifacts '/etc']",
    "##octopus[setVariable name='x']",
    "[[ATTACHMENT|/etc/shadow]]",
    "[[PROPERTY|owner=x]]",
    '<DartMeasurementFile name="x" type="image/png">/etc/shadow</DartMeasurementFile>',
    '<CTestMeasurement type="file" name="x">/etc/shadow</CTestMeasurement>',
    "section_start:1560896352:x",
    "a\nsection_start:1560896352:x",
    "travis_fold:start:x",
    "SPINNAKER_PROPERTY_x=y",
    "RUNDECK:DATA:x = y",
    "PERFHERDER_DATA: {}",
    "#\ufe0f#[set-output name=report;]x",
    "#\u034f#[set-output name=report;]x",
    ":\ufe0f:error::x",
]
GROUPS = ["--- a group", "a\n+++ an open group", "~~~ a muted one", "^^^ +++"]


@pytest.mark.parametrize("text", COMMANDS + GROUPS)
def test_no_command_is_left_in_a_text(text: str) -> None:
    assert commands_in(text)
    assert not commands_in(break_commands(text))


@pytest.mark.parametrize("text", ["std::vector a[i] #[test] # [x] \N{HEAVY CHECK MARK}", "a  ::b", "a --- b", "[[x]]"])
def test_other_text_stays(text: str) -> None:
    assert break_commands(text) == text


@pytest.mark.parametrize("text", COMMANDS)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_no_command_is_left_in_a_stream_however_it_comes(text: str, size: int) -> None:
    written = io.StringIO()
    stream = guard_stream(written)
    for start in range(0, len(text), size):
        stream.write(text[start : start + size])
    assert not commands_in(written.getvalue())
    assert written.getvalue().replace(" ", "") == break_commands(text).replace(" ", "")


@pytest.mark.parametrize("text", [*COMMANDS, "\travis_fold:start:x", 'a "quoted" \\##[x]', "\U000e0100"])
def test_a_json_document_says_the_same_without_commands(text: str) -> None:
    for ascii_only in (True, False):
        document = break_commands_in_json(json.dumps({text: [text]}, indent=2, ensure_ascii=ascii_only))
        assert json.loads(document) == {text: [text]}
        assert not commands_in(document)
