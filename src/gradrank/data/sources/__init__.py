"""Sources of data sets: the catalogue, downloads, archives, and artificial data."""
