"""Analysis of DataFrames: columns and rows to reports."""
