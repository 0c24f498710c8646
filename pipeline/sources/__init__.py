"""Sources of imports: files, databases and lakes, read in chunks, and their descriptions."""
