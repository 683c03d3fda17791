"""Background work: the scheduler, of which each process of the service has one, and the list of its tasks."""
