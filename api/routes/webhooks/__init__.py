"""Routes of webhooks and notification channels, and of deliveries to them."""
