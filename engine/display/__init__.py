"""Reports for readers: as HTML, Markdown, text, tables and plain data."""
