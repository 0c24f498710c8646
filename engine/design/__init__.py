"""Before the data: what an experiment is, its life, and who sees which variant."""
