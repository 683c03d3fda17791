"""The program moves itself out of its control group, raises the group's limits, and protects itself at shortage."""

from tests.hostile.arena import Arena, Outcome

SCRIPT = """#!/bin/sh
try() { if (echo "$1" > "$2") 2>/dev/null; then echo "WRITTEN $2"; fi; }
for file in $(find /sys/fs/cgroup -maxdepth 4 \\( -name cgroup.procs -o -name tasks -o -name release_agent \\
    -o -name memory.limit_in_bytes -o -name memory.max -o -name pids.max -o -name notify_on_release \\
    -o -name cgroup.kill -o -name cgroup.freeze -o -name freezer.state \\) 2>/dev/null | head -n 400); do
    try 0 "$file"
done
for place in /sys/fs/cgroup /sys/fs/cgroup/memory /sys/fs/cgroup/pids /sys/fs/cgroup/unified; do
    mkdir "$place/mine" 2>/dev/null && echo "WRITTEN $place"
done
try -1000 /proc/self/oom_score_adj
try '|/bin/sh' /proc/sys/kernel/core_pattern
try /bin/sh /proc/sys/kernel/modprobe
try 100000 /proc/sys/user/max_user_namespaces
try 1 /proc/sys/vm/drop_caches
try b /proc/sysrq-trigger
try 0 /sys/kernel/mm/ksm/run
ulimit -H -u unlimited 2>/dev/null && echo WRITTEN ulimit
prlimit --nproc=unlimited --fsize=unlimited --data=unlimited true 2>/dev/null && echo WRITTEN prlimit
echo DONE
exit 1
"""


def prepare(arena: Arena) -> None:
    arena.write("probe", SCRIPT, executable=True)
    arena.workload(command="./probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    assert "DONE" in outcome.report, outcome.said
    assert "WRITTEN" not in outcome.report, outcome.report[-3000:]
