"""Tables of sums: counts and moments by variant, day and segment, given instead of rows of visitors."""
