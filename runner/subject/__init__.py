"""The repository under test: its revisions, and what they build to."""
