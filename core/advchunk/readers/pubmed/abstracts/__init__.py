"""The text and the sections of biomedical abstracts."""
