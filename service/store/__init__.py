"""The database: its tables, its engine, and one module of queries for each noun."""
