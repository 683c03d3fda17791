"""Rules of the settings lab: which runs belong to a cell, how cells compare with the default, which one is the best."""
