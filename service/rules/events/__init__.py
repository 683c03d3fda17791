"""From drifts to events, and what becomes of them: grouping, the life of an event, silences. Pure."""
