"""Pages of the account: usage, members, API keys and the audit trail."""
