"""Record what a perf prints: ``python tests/runner/perf/record.py NAME PERF...``.

NAME is the folder under ``recorded/``; PERF is the command that runs it, for example ``perf`` or a wrapper that enters
another distribution's root. ``LOCPATH`` must hold the locales. Each file's first line says how it was made.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

EVENTS = "minor-faults,major-faults,page-faults,context-switches,cpu-migrations,task-clock,instructions,cycles"
CLOCKS = "duration_time,user_time,system_time"
TOUCH = "dd if=/dev/zero of=/dev/null bs=8M count=1 status=none"
TOUCH_MUCH = "dd if=/dev/zero of=/dev/null bs=512M count=1 status=none"
FEW = "minor-faults,task-clock,duration_time"

CASES = {
    "csv": f"-x ; -e {EVENTS} -- {TOUCH}",
    "csv-default-events": f"-x ; -- {TOUCH}",
    "csv-clocks": f"-x ; -e minor-faults,task-clock,{CLOCKS} -- {TOUCH}",
    "csv-clocks-of-nothing": f"-x ; -e minor-faults,task-clock,{CLOCKS} -- sleep 0",
    "csv-cpu-clock": f"-x ; -e minor-faults,task-clock,cpu-clock -- {TOUCH}",
    "csv-user": f"-x ; -e minor-faults:u,task-clock:u,context-switches:u,instructions:u -- {TOUCH}",
    "csv-kernel": f"-x ; -e minor-faults:k,task-clock -- {TOUCH}",
    "csv-comma": f"-x , -e {EVENTS} -- {TOUCH}",
    "csv-file": f"-x ; -o /dev/stdout -e {EVENTS} -- {TOUCH}",
    "csv-append": f"-x ; -o /dev/stdout --append -e {EVENTS} -- {TOUCH}",
    "csv-repeat": f"-x ; -r 3 -e {EVENTS} -- true",
    "csv-interval": f"-x ; -I 100 -e {FEW} -- sleep 0.25",
    "csv-per-cpu": f"-x ; -a -A -e {EVENTS} -- true",
    "csv-de_DE": f"-x ; -e {EVENTS} -- {TOUCH}",
    "json": f"-j -e {EVENTS} -- {TOUCH}",
    "json-default-events": f"-j -- {TOUCH}",
    "json-clocks": f"-j -e minor-faults,task-clock,{CLOCKS} -- {TOUCH}",
    "json-user": f"-j -e minor-faults:u,task-clock:u,context-switches:u,instructions:u -- {TOUCH}",
    "json-repeat": f"-j -r 3 -e {EVENTS} -- true",
    "json-interval": f"-j -I 100 -e {FEW} -- sleep 0.25",
    "json-per-cpu": f"-j -a -A -e {EVENTS} -- true",
    "json-de_DE": f"-j -e {EVENTS} -- {TOUCH}",
    "text": f"-e {EVENTS} -- {TOUCH}",
    "text-default-events": f"-- {TOUCH}",
    "text-clocks": f"-e minor-faults,task-clock,{CLOCKS} -- {TOUCH}",
    "text-user": f"-e minor-faults:u,task-clock:u,context-switches:u,instructions:u -- {TOUCH}",
    "text-append": f"-o /dev/stdout --append -e {EVENTS} -- {TOUCH}",
    "text-repeat": f"-r 3 -e {EVENTS} -- true",
    "text-interval": f"-I 100 -e {FEW} -- sleep 0.25",
    "text-per-cpu": f"-a -A -e {EVENTS} -- true",
    "text-lines": f"-e {FEW} -- sh -c 'true\ntrue'",
} | {f"text-{locale}": f"-e {EVENTS} -- {TOUCH_MUCH}" for locale in ("en_US", "de_DE", "fr_FR", "en_IN", "de_CH")}


def record(perf: list[str], version: str, case: str, folder: Path) -> None:
    """Run one case and write what perf printed, if it knew the options."""
    locale = case.rpartition("-")[2]
    setting = f"{locale}.UTF-8" if "_" in locale else "C"
    arguments = shlex.split(CASES[case])
    output = ""
    for _ in range(2 if "--append" in arguments else 1):
        environment = {**os.environ, "LC_ALL": setting}
        done = subprocess.run([*perf, "stat", *arguments], capture_output=True, text=True, env=environment, check=False)
        output += done.stdout if "-o" in arguments else done.stderr
    # perf says this of the machine, where it cannot read which processors are possible.
    output = output.replace("Failed to read max cpus, using default of 4096\n", "")
    if not output or "unknown switch" in output or "event syntax error" in output:
        print(f"{version} cannot do {case}")
        return
    command = shlex.join(["perf", "stat", *arguments]).replace("\n", "\\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{case}.txt").write_text(f"# {version}: LC_ALL={setting} {command}\n{output}", encoding="utf-8")


def main() -> None:
    """Record all cases of one perf."""
    name, *perf = sys.argv[1:]
    version = subprocess.run([*perf, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    for case in CASES:
        record(perf, version, case, Path(__file__).parent / "recorded" / name)


if __name__ == "__main__":
    main()
