#!/bin/sh
# Compares HEAD with its merge base with BASE: page faults, to the fault. Exits with 1 if it got worse, and with 2 if the
# host or the request is wrong. BASE is the branch into which changes are merged, as the remote has it, else as it is
# here; if HEAD is that branch, the commit before. Written by `faultwatch init`.
#
#   faultwatch-gate.sh [BASE]
set -eu

cd "$(git rev-parse --show-toplevel)"
commit() { git rev-parse --quiet --verify "$1^{commit}" || true; }
base=${1:-}
for name in origin/@BRANCH@ @BRANCH@ HEAD~1; do
    case $(commit "$name") in
    "" | "$(commit HEAD)") ;;
    *) base=${base:-$name} ;;
    esac
done
# Folders outside of /usr that the build reads, beside its own. `faultwatch measure` on this host fills them.
export FAULTWATCH_SANDBOX_READ=@READ@
exec faultwatch gate --repo . --output faultwatch-gate.json -- @WORKLOAD@ "${base:-HEAD}..HEAD"
