"""The canary: a program whose faults are known in advance, counted before each session."""
