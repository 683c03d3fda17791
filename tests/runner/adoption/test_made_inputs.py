"""The inputs that are made for programs whose projects keep none."""

import json
import subprocess
from pathlib import Path

import pytest

from runner.adoption.made_inputs import add_making_step, find_missing_format, list_made_input_runs
from runner.adoption.proposal import BuildProposal
from tests.runner.adoption.listings import listing

INDEXER = "Usage: x <command>\n\nCommand: index     index a FASTA file\n         view      view an index\n"


@pytest.mark.parametrize(
    ("usage", "name"),
    [
        ("Usage: x [options] <in.fq>\n", "FASTQ"),
        ("usage: x seq  transformation of FASTA/Q\n", "FASTQ"),
        ("usage: x ref.fasta\n", "FASTA"),
        ("usage: x sort   Sort CSV data\n", "CSV"),
        ("usage: x FILE.tsv\n", "TSV"),
        ("usage: x FILE.jsonl\n", "JSON lines"),
        ("usage: x FILE [--csv]\n", ""),
        ("usage: x fasting breakfast.file .fat\n", ""),
    ],
)
def test_a_format_is_known_by_its_name_in_a_usage(usage: str, name: str) -> None:
    found = find_missing_format(listing({}), usage)
    assert (found.name if found else "") == name


@pytest.mark.parametrize("file", ["test/a.fa", "data/genome.fasta.gz"])
def test_no_input_is_made_if_the_project_keeps_one(file: str) -> None:
    assert find_missing_format(listing({file: ""}), "usage: x ref.fa\n") is None


def test_the_made_input_goes_to_the_subcommands_that_read_it() -> None:
    fasta, fastq = (find_missing_format(listing({}), f"usage: x in{suffix}") for suffix in (".fa", ".fq"))
    assert fasta
    assert fastq
    (run,) = list_made_input_runs("./x", INDEXER, fasta)
    assert (run.command, run.input_file) == ("./x index faultwatch-input.fa", "faultwatch-input.fa")
    assert list_made_input_runs("./x", INDEXER, fastq) == []
    (run,) = list_made_input_runs("./x", "usage: x in.fq\n", fastq)
    assert run.command == "./x faultwatch-input.fq"


def test_a_program_whose_subcommands_are_about_a_format_gets_it_with_those_that_compute() -> None:
    usage = "Usage: x <command>\n\nCommands:\n  headers  Show headers of CSV\n  sort  Sort CSV data\n  stats  Compute\n"
    csv = find_missing_format(listing({}), usage)
    assert csv
    runs = list_made_input_runs("./x", usage, csv)
    assert [run.command.split()[1] for run in runs] == ["stats", "sort", "headers"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_a_table_is_made_the_same_each_time_with_as_many_fields_in_each_line(suffix: str, tmp_path: Path) -> None:
    found = find_missing_format(listing({}), f"usage: x in.{suffix}\n")
    assert found
    script = add_making_step(BuildProposal("Make", "true"), found).command.removeprefix("sh -c '").removesuffix("'")
    texts = set()
    for _ in range(2):
        subprocess.run(("sh", "-c", script), cwd=tmp_path, check=True)
        texts.add((tmp_path / found.file).read_text())
    (text,) = texts
    assert len(text) > 1_000_000
    lines = text.splitlines()
    if suffix == "jsonl":
        assert {tuple(json.loads(line)) for line in lines} == {("id", "name", "group", "value")}
    else:
        separator = {"csv": ",", "tsv": "\t"}[suffix]
        assert {len(line.split(separator)) for line in lines} == {4}


@pytest.mark.parametrize(
    ("usage", "file", "records"),
    [("usage: x .fa", "faultwatch-input.fa", 1), ("usage: x .fq", "faultwatch-input.fq", 10685)],
)
def test_an_input_is_made_the_same_each_time_and_as_its_format_asks(
    usage: str, file: str, records: int, tmp_path: Path
) -> None:
    found = find_missing_format(listing({}), usage)
    assert found
    build = add_making_step(BuildProposal("Make", "true"), found)
    script = build.command.removeprefix("sh -c '").removesuffix("'")
    assert "'" not in script, "it stays legible in the workload file"
    texts = set()
    for _ in range(2):
        subprocess.run(("sh", "-c", script), cwd=tmp_path, check=True)
        texts.add((tmp_path / file).read_text())
    (text,) = texts
    assert len(text) > 1_000_000
    lines = text.splitlines()
    if found.name == "FASTQ":
        assert len(lines) == 4 * records
        for name, bases, plus, quality in zip(*(lines[part::4] for part in range(4)), strict=True):
            assert (name[0], plus, len(quality)) == ("@", "+", len(bases))
        assert set("".join(lines[1::4])) == set("ACGT")
    else:
        assert [line for line in lines if line.startswith(">")] == [">sequence"]
        assert set("".join(lines[1:])) == set("ACGT")
