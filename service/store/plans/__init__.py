"""Plans: the runs to measure besides those of new revisions, and the expected counts."""
