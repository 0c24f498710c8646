"""Pages of one project: settings, metrics, runs and imports, webhooks, and erasure."""
