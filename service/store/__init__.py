"""The database: its tables, its engine, and the core's queries, with a module or a package for each noun."""
