"""Arrays in, arrays out: signals over gaps, costs of segments, search, graphs, runs."""
