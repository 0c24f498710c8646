"""SDK endpoints: access, assignment and tracking."""
