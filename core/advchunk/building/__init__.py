"""From the layout and the limits of a text to its chunks."""
