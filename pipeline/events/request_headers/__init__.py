"""Request headers of browsers: consent, location and language of a visitor."""
