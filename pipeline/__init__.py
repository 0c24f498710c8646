"""The pipeline: storage, ingest, rollup, results and jobs."""
