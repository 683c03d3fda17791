"""Profiles cases: finds out where their faults, CPU time and waiting come from."""
