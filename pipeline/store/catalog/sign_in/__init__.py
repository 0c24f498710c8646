"""Sign-in of people: sessions of the dashboard."""
