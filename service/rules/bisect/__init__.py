"""Searches for what moved a metric: the commit, or the knob. What was measured goes in, what to measure comes out."""
