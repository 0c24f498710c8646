"""Sign-in of people: sessions of the dashboard, and links that begin one."""
