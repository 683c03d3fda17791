"""Background work: one scheduler in each process of the service, and the list of its tasks."""
