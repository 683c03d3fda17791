"""Diagnoses a profile: names the pathology, with its evidence and its remedies.

Each rule looks at the facts of one profile, or of two where there is an earlier one, and returns a finding or None.
Several rules can apply; the finding that explains the largest share of the time comes first. If none applies, the facts
themselves are the answer.
"""
