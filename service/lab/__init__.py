"""The settings lab: what the settings of a case do to its faults at one commit, and which are the best."""
