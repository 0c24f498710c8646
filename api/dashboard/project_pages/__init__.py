"""Pages of one project: settings, metrics, groups, holdouts, runs, webhooks, channels, and erasure."""
