"""Report assembly: results, decisions and sentences from arrays."""
