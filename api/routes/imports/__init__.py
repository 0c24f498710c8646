"""Routes of imports: files that are sent, and described sources."""
