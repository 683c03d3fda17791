"""Many measurements for one question: a history, a search for commits, a search for knobs."""
