"""Diagnoses a profile: names the pathology, with its evidence and its remedies.

Each rule reads the facts of a profile, and those of an earlier profile if there is one, and returns a finding or None.
Several rules can apply; the finding that explains the largest share of the time comes first. If none applies, the
diagnosis consists of the facts.
"""
