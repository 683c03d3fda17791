"""Finds the files that a program maps, identifies them by digest, and prepares their state in the page cache.

The number of faults that a program takes in a file depends on the state of the file's pages in the page cache. A fault
maps up to 64 KiB around its address, but only resident pages, a whole large folio where there is one, and no page
that is marked for readahead. The same bytes therefore count differently depending on who wrote or read them last. This
package brings all mapped files into one prepared state before they are measured.
"""
