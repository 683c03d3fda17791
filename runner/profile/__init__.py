"""Profiles cases: where their faults, CPU time and waiting come from."""
