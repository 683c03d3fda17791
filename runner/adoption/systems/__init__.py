"""Build systems: each module has ``propose(sources)``, which returns ways to build, the most complete first."""
