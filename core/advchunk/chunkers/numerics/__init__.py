"""Numerical functions on arrays: gap scores, segment costs, search, graphs and runs of labels."""
