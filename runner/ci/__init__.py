"""The CI systems that can run the gate: one module for each, which ``registry.py`` lists."""
