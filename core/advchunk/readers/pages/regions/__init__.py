"""Page regions: their lines, reading order, and the documents built from them."""
