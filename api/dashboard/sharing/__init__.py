"""Sharing of results: the page that a share link shows, and the forms of members that make and end links."""
