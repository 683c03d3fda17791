"""Formats that can be imported: each module recognises its format by content and reads it."""
