"""Everything on this host that prevents or distorts measurements, and how to fix it."""
