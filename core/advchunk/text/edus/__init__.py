"""Elementary discourse units: the clauses of an argument, as a tiling that any chunker can use."""
