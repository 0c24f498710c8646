"""The error of a message that could not be sent."""


class SendingError(Exception):
    """A message could not be sent, or was not answered; the text says why."""
