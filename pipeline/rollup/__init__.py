"""From raw events to one row per visitor, and from visitors to sums that add up by day and segment."""
