"""Evidence: validated counts and moments of an experiment, by variant, goal, day, epoch and segment."""
