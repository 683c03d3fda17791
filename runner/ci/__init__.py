"""The CI systems that run the gate: each module is one, and ``registry.py`` has a line for each."""
