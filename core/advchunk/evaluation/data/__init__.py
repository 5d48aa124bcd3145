"""What chunkers are evaluated on: questions, segmented texts, and both made from documents."""
