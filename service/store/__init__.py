"""The database: its tables, its engine, and the queries of the core, by noun: a module, or a package of modules."""
