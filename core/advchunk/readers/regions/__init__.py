"""Page regions: detection, reading order, and the documents built from them."""
