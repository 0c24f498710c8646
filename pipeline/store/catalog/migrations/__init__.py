"""How the catalog's tables came to be, one revision a file."""
