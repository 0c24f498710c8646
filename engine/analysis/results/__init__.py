"""Records of a report: results, summaries, decisions and intervals."""
