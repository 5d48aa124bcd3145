"""Documents of other parsers, read from their JSON or their objects, without importing any of them.

Each module has a function ``read``, which takes either, and has ``document`` for another name.
"""
