"""After the data: moments in, a verdict out."""
