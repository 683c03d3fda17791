"""How numbers, Markdown, commands and tables are written."""
