"""Regions of pages: what detectors find, the order in which they are read, and the documents made of them."""
