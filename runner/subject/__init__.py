"""The repository under test: its revisions and their builds."""
