"""The spool: acknowledged events in append-only files, until the warehouse has them."""
