"""Everything that touches a GPU. Imported by the worker process only."""
