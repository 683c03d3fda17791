#!/bin/sh
# Compares HEAD with its merge base with a branch: page faults, to the fault. Exits with 1 if it got worse, and with 2
# if the host or the request is wrong. Written by `faultwatch init`.
#
#   faultwatch-gate.sh [BASE]
set -eu

cd "$(git rev-parse --show-toplevel)"
# Folders outside of /usr that the build reads, beside its own. `faultwatch measure` on this host fills them.
export FAULTWATCH_SANDBOX_READ=@READ@
exec faultwatch gate --repo . --output faultwatch-gate.json -- @WORKLOAD@ "${1:-origin/@BRANCH@}..HEAD"
