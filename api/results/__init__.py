"""Answers about results: kept while nothing changes, tagged, and computed on threads of their own."""
