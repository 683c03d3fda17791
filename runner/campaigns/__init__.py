"""Campaigns of many measurements: measuring a history, searching for commits or settings, proving and explaining."""
