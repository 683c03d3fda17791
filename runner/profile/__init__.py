"""Profiles: where the faults, the CPU time and the waiting of a case come from."""
