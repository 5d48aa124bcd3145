"""Numerical functions on arrays: gap scores, segment costs, cutting, graphs and runs of labels."""
