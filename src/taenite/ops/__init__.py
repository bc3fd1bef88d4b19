"""Records and public functions, one module for each kind of operation."""
