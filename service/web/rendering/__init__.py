"""Code that the pages share: formats, tables, forms, caching."""
