"""The inputs that are made for programs whose projects keep none."""

import json
import shlex
import subprocess
import wave
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
        ("Usage: x [-options] file[.wav]\n", "WAV"),
        ("Usage: x in.y4m out.ivf\n", "YUV4MPEG2"),
        ("usage: x [switches] [in.ppm] [out]\n", "PPM"),
        ("USAGE: x <input-file>\n  where input may be in gzipped DIMACS.\n", "DIMACS CNF"),
        ("usage: x colours a DIMACS graph\n", ""),
        ("usage: x [--wave N] solves the wave equation\n", ""),
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


def test_a_sound_is_made_with_the_header_that_its_readers_expect(tmp_path: Path) -> None:
    found = find_missing_format(listing({}), "usage: x infile.wav outfile.xyz")
    assert found
    command = add_making_step(BuildProposal("Make", "true"), found).command
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    with wave.open(str(tmp_path / found.file)) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (2, 2, 44_100)
        assert len(sound.readframes(sound.getnframes())) == 1 << 20
    runs = list_made_input_runs("./x", "usage: x infile.wav outfile.xyz", found)
    assert [run.command for run in runs] == [
        "./x faultwatch-input.wav",
        "./x faultwatch-input.wav faultwatch-output.xyz",
    ]


def test_a_formula_is_made_with_as_many_clauses_and_variables_as_its_first_line_says(tmp_path: Path) -> None:
    found = find_missing_format(listing({}), "usage: x in.cnf")
    assert found
    command = add_making_step(BuildProposal("Make", "true"), found).command
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    first_line, *clauses = (tmp_path / found.file).read_text().splitlines()
    assert first_line == f"p cnf 1999 {len(clauses)}"
    literals = [[int(word) for word in clause.split()] for clause in clauses]
    assert all(len(clause) == 4 and clause[-1] == 0 for clause in literals)
    assert {abs(literal) for clause in literals for literal in clause[:-1]} == set(range(1000, 2000))


@pytest.mark.parametrize(
    ("suffix", "start", "size"), [("ppm", b"P6\n640 512\n255\n", 983_055), ("y4m", b"YUV4MPEG2 W", 0)]
)
def test_an_image_and_a_video_are_made_as_large_as_their_headers_say(
    suffix: str, start: bytes, size: int, tmp_path: Path
) -> None:
    found = find_missing_format(listing({}), f"usage: x in.{suffix}")
    assert found
    command = add_making_step(BuildProposal("Make", "true"), found).command
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    content = (tmp_path / found.file).read_bytes()
    assert content.startswith(start)
    frames = content.split(b"FRAME\n")[1:]
    assert [len(frame) for frame in frames] == [152_064] * 5 if suffix == "y4m" else len(content) == size


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
