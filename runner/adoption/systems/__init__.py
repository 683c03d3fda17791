"""Build systems: ``propose(sources)`` of each module returns ways to build a project, the most complete first."""
