"""Pages of one project: settings, metrics, runs and imports, webhooks, notification channels, and erasure."""
