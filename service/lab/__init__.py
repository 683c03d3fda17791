"""The settings lab: shows how settings affect the faults of a case at one commit, and which settings are the best."""
