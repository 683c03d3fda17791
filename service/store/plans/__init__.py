"""Plans: what is measured besides new revisions, and the counts that are expected."""
