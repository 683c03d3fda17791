"""What the pages share: formats, tables, forms, caching."""
