"""Makes events of drifts and decides what becomes of them: grouping, lifecycle, resolution, silences."""
