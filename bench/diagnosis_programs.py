"""Real programs of Debian that are well, each with work for some tenths of a second, and what their remedies win."""

import os
import random
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.diagnosis_yard import Yard
from runner.contract.diagnosis import Finding
from runner.workload import Workload, load_workload
from runner.workload.remedy import apply_remedy

_WORDS = 300_000
_PAIRS = 7
WINS = 0.01
"""The share of CPU time or of elapsed time from which a remedy wins something."""


@dataclass(frozen=True)
class Program:
    """A command that is profiled in the folder of the inputs."""

    name: str
    command: Sequence[str]


_COUNT = (
    "import collections,sys\nc=collections.Counter()\nfor l in open('words.txt'): c.update(l.split())\nprint(len(c))"
)
_LISTS = "t=0\nfor n in range(60):\n    rows=[(i,str(i)) for i in range(n*400)]\n    t+=len(rows)\nprint(t)"
_JSON = "import json\nd=json.load(open('rows.json'))\nprint(len(json.dumps(sorted(d,key=lambda r:r['b']))))"
_ZLIB = "import zlib\nb=open('words.txt','rb').read()\nprint(len(zlib.compress(b,6)))"
_REGEX = "import re\nt=open('words.txt').read()\nprint(len(re.findall(r'[aeiou]{2}[a-z]+s\\b',t)))"
_MEMORY = (
    "create table t(a integer, b text); insert into t with recursive n(i) as (select 1 union all select i+1 from n "
    "where i<200000) select i*7919%200003, hex(i) from n; create index x on t(b); select count(*) from t where b>'5';"
)
_JOIN = "select count(*), sum(length(x.b)) from t x join t y on x.a = y.a where x.b > 'w';"
_NODE = "const m=new Map();for(let i=0;i<4e5;i++)m.set('k'+i%9e4,(m.get('k'+i%9e4)||0)+i);console.log(m.size)"

PROGRAMS = (
    Program("sort", ["sort", "words.txt", "-o", "out.sorted"]),
    Program("sort --numeric", ["sort", "-n", "numbers.txt", "-o", "out.numbers"]),
    Program("sort with two threads", ["sort", "--parallel=2", "-u", "words.txt", "-o", "out.unique"]),
    Program("gzip", ["gzip", "-k", "-f", "few.txt"]),
    Program("gzip --test", ["gzip", "-t", "packed.gz"]),
    Program("bzip2", ["bzip2", "-k", "-f", "few.txt"]),
    Program("bzip2 --test", ["bzip2", "-t", "packed.bz2"]),
    Program("xz", ["xz", "-0", "-k", "-f", "few.txt"]),
    Program("xz with two threads", ["xz", "-0", "-T2", "--block-size=500000", "-k", "-f", "few.txt"]),
    Program("xz --test", ["xz", "-t", "packed.xz"]),
    Program("zstd", ["zstd", "-q", "-f", "-9", "words.txt", "-o", "out.zst"]),
    Program("zstd with two threads", ["zstd", "-q", "-f", "-3", "-T2", "packed.tar", "-o", "out.zst"]),
    Program("tar --create", ["tar", "-cf", "out.tar", "tree"]),
    Program("tar --extract", ["tar", "-xf", "packed.tar", "-C", "unpacked"]),
    Program("tar through gzip", ["tar", "-czf", "out.tgz", "tree"]),
    Program("grep", ["grep", "-c", "[aeiou]\\{3\\}.*x", "words.txt"]),
    Program("grep --perl-regexp", ["grep", "-cP", "(?<=q)[^ ]*[aeiou]{2}[a-z]*\\b", "words.txt"]),
    Program("grep --file", ["grep", "-cF", "-f", "patterns.txt", "words.txt"]),
    Program("awk, a sum", ["mawk", "{s += $1 * $2} END {print s}", "numbers.txt"]),
    Program("awk, counting words", ["mawk", "{for (i = 1; i <= NF; i++) n[$i]++} END {print length(n)}", "words.txt"]),
    Program("sed", ["sed", "-n", "s/\\([a-m]*\\) \\([n-z]*\\)/\\2 \\1/w out.sed", "words.txt"]),
    Program("perl, counting words", ["perl", "-ne", "$n{$_}++ for split; END {print scalar keys %n}", "words.txt"]),
    Program(
        "perl, a regular expression", ["perl", "-ne", "$n += () = /[aeiou]+[st]\\w/g; END {print $n}", "words.txt"]
    ),
    Program("perl, sorting", ["perl", "-e", "@a = map {rand} 1..200000; print scalar sort {$a <=> $b} @a"]),
    Program("python, counting words", ["python3", "-c", _COUNT]),
    Program("python, lists", ["python3", "-c", _LISTS]),
    Program("python, JSON", ["python3", "-c", _JSON]),
    Program("python, zlib", ["python3", "-c", _ZLIB]),
    Program("python, a regular expression", ["python3", "-c", _REGEX]),
    Program("python, compiling", ["python3", "-m", "compileall", "-q", "-f", "scripts"]),
    Program("sqlite, in memory", ["sqlite3", ":memory:", _MEMORY]),
    Program("sqlite, a join", ["sqlite3", "rows.db", _JOIN]),
    Program("sqlite, a dump", ["sqlite3", "rows.db", "select count(*) from (select b from t order by b desc);"]),
    Program("git log", ["git", "-C", "repository", "log", "-p", "--oneline", "--output=../out.log"]),
    Program("git fsck", ["git", "-C", "repository", "fsck", "--no-progress"]),
    Program("git repack", ["git", "-C", "repository", "repack", "-a", "-d", "-f", "-q"]),
    Program("sha256sum", ["sha256sum", "words.txt", "numbers.txt", "packed.tar"]),
    Program("openssl", ["openssl", "dgst", "-sha512", "packed.tar"]),
    Program("gcc", ["gcc", "-O2", "-c", "code.c", "-o", "out.o"]),
    Program("comm", ["comm", "-12", "--total", "one.txt", "two.txt"]),
    Program("cmp", ["cmp", "packed.tar", "copy.tar"]),
    Program("wc", ["wc", "-w", "words.txt"]),
    Program("find", ["find", "/usr/share", "-name", "*77*", "-size", "+10k"]),
    Program("jq", ["jq", "-c", "[.[] | select(.a % 3 == 0) | .b] | length", "rows.json"]),
    Program("bc", ["bc", "-l", "pi.bc"]),
    Program("node", ["node", "-e", _NODE]),
    Program("shuf", ["shuf", "words.txt", "-o", "out.shuffled"]),
    Program("factor", ["factor", *(str(2**89 - 1 - 2 * n) for n in range(6))]),
)


def draw_programs(seed: int, number: int) -> list[Program]:
    """Return some of the programs that this machine has, in the order of the list."""
    here = [program for program in PROGRAMS if shutil.which(program.command[0])]
    chosen = set(random.Random(seed).sample(range(len(here)), min(number, len(here))))
    return [program for place, program in enumerate(here) if place in chosen]


def make_inputs(folder: Path, seed: int) -> None:
    """Write the inputs of all programs; the same seed writes the same."""
    draw = random.Random(seed)
    known = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 11))) for _ in range(30_000)]
    lines = [" ".join(draw.choices(known, k=8)) for _ in range(_WORDS // 8 + draw.randrange(10_000))]
    rows = [{"a": n, "b": draw.choice(known)} for n in range(20_000 + draw.randrange(20_000))]
    texts = {
        "words.txt": "\n".join(lines * 2),
        "few.txt": "\n".join(lines[:25_000]),
        "patterns.txt": "\n".join(draw.sample(known, 200)),
        "numbers.txt": "\n".join(f"{draw.randrange(10**9)} {draw.random():.6f}" for _ in range(150_000)),
        "rows.json": "[" + ",".join(f'{{"a": {row["a"]}, "b": "{row["b"]}"}}' for row in rows) + "]",
        "one.txt": "\n".join(sorted(lines)),
        "two.txt": "\n".join(sorted(line[::-1] for line in lines)),
        "pi.bc": "scale=900\n4*a(1)\nquit\n",
        "code.c": "".join(_function(n, draw) for n in range(50)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text + "\n")
    _make_tree(folder, lines, draw)
    _make_repository(folder / "repository", lines, draw)
    inserts = "".join(f"insert into t values ({row['a']}, '{row['b']}');" for row in rows)
    _run(
        folder,
        "sqlite3",
        "rows.db",
        f".read {_written(folder / 'rows.sql', f'create table t(a,b);begin;{inserts}commit;')}",
    )
    _run(folder, "tar", "-cf", "packed.tar", "tree", "words.txt", "numbers.txt")
    shutil.copy(folder / "packed.tar", folder / "copy.tar")
    for tool, suffix in (("gzip", "gz"), ("bzip2", "bz2"), ("xz", "xz")):
        if shutil.which(tool):
            with (folder / f"packed.{suffix}").open("wb") as packed:
                subprocess.run([tool, "-1", "-c", "few.txt"], cwd=folder, stdout=packed, check=True)


def _function(number: int, draw: random.Random) -> str:
    body = "".join(f"    if (x % {draw.randint(2, 97)} == y) x = x * {draw.randint(2, 9)} + y;\n" for _ in range(6))
    return f"int f{number}(int x, int y)\n{{\n{body}    return x;\n}}\n"


def _make_tree(folder: Path, lines: Sequence[str], draw: random.Random) -> None:
    (folder / "unpacked").mkdir()
    (folder / "scripts").mkdir()
    for number in range(60):
        body = "".join(f"def f{n}(a, b):\n    return [a * {n}, b, {{'k': a}}]\n" for n in range(60))
        (folder / "scripts" / f"m{number}.py").write_text(body)
    for number in range(1500):
        path = folder / "tree" / str(number % 40) / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(draw.sample(lines, 30)))


def _make_repository(folder: Path, lines: Sequence[str], draw: random.Random) -> None:
    _run(folder.parent, "git", "init", "-q", str(folder))
    for number in range(20):
        for file in draw.sample(range(40), 12):
            (folder / f"{file}.txt").write_text("\n".join(draw.sample(lines, 200)))
        _run(folder, "git", "add", "-A")
        author = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
        _run(folder, "git", *author, "commit", "-q", "-m", f"{number}")


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"})


def workload_of(program: Program, folder: Path) -> Workload:
    """Return the workload that executes a program in a folder."""
    words = ", ".join(f"{_quoted(word)}" for word in program.command)
    text = f'[workload]\nname = "program"\ntimeout = 60\n\n[run]\ncommand = [{words}]\n'
    path = _written(folder / "workload.toml", text)
    return load_workload(path)


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("{", "{{").replace("}", "}}")
    return f'"{escaped}"'


def won(yard: Yard, workload: Workload, folder: Path, finding: Finding) -> float | None:
    """Return the largest share of the time that a remedy of a finding wins, interleaved; None if none can be set.

    Of CPU time and of elapsed time, the one that wins more counts: the median over the pairs.
    """
    results = []
    for remedy in finding.remedies:
        if not remedy.settings:
            continue
        sides = [yard.trial(one, {}, folder) for one in (workload, apply_remedy(workload, remedy.settings))]
        pairs = [[trial.execute().readings for trial in sides] for _ in range(_PAIRS)]
        for name in ("task-clock", "elapsed"):
            values = [[side[name].value or 0.0 for side in pair] for pair in pairs]
            results.append(statistics.median(1 - after / before for before, after in values if before))
    return max(results, default=None)
