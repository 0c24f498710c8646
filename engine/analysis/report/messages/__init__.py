"""Messages: label, headline, explanation, next step and confidence of each situation."""
