"""Questions and segmented texts to evaluate chunkers on: read from files, or built from documents."""
