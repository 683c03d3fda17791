"""The database: its tables, its engine, and the queries of the core by noun, in a module or a package each."""
