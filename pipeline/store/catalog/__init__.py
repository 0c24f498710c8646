"""The catalog in SQLite or PostgreSQL: accounts, members, keys, projects, experiments and an audit trail."""
