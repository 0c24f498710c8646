"""Steps of the distributed rollup: a shuffle of events by key, and the function of each part."""
