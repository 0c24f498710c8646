"""Rollup: raw events to visitor rows to exact sums."""
