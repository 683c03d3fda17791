"""Finds the files that a program maps, identifies them by digest, and prepares their state in the page cache.

The number of faults that a program takes in a file depends on the state of the file's pages in the page cache. A fault
maps up to 64 KiB around its address. It maps only resident pages, maps a large folio as a whole, and leaves out pages
that are marked for readahead. The same bytes therefore cause different counts, depending on who wrote or read them
last. This package brings all mapped files into one prepared state before anything is measured.
"""
