"""Everything that speaks HTTP: the API, the pages, access."""
