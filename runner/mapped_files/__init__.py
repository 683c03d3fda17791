"""The files that a program maps: found by watching it run, known by what is in them, laid out in memory in one way.

How many faults a program takes in a file depends on how the file's pages lie in the page cache: a fault maps up to
64 KiB around it, but only of pages that are there, a whole large folio where there is one, and nothing that is marked
for reading ahead. So the same bytes count differently by who wrote or read them last. Here they are put into one state
before they are counted.
"""
