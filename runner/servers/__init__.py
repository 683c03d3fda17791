"""Servers: starts them, waits until they are ready, loads them in windows, counts each window, and stops them."""
