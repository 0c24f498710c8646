"""Routes of webhooks and of deliveries to them."""
