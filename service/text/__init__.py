"""Writes numbers, Markdown, commands and tables as text."""
