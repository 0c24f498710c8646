"""Sending of e-mails by the mail server of the settings, which may be of any network."""

import smtplib
import ssl
from collections.abc import Collection, Mapping
from contextlib import suppress
from email.message import EmailMessage
from typing import Final

from pipeline.settings import Settings
from pipeline.webhooks.sending_error import SendingError

# Of each step, such as the connection or an answer.
TIMEOUT_SECONDS: Final = 10.0
# Refusals from here on stay: RFC 5321, section 4.2.1.
_PERMANENT: Final = 500
# The first that an error is of. Answers of the server are left out: they may quote an address or a password.
_SENTENCES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (smtplib.SMTPAuthenticationError, "the mail server refused the user or the password"),
    (smtplib.SMTPSenderRefused, "the mail server refused TRUELIFT_SMTP_FROM"),
    (smtplib.SMTPNotSupportedError, "the mail server offers no STARTTLS or no login"),
    (smtplib.SMTPServerDisconnected, "the mail server closed the connection, or did not answer in time"),
    (smtplib.SMTPResponseException, "the mail server refused the message"),
    (smtplib.SMTPException, "the mail server offers no known way to log in"),
    (ssl.SSLCertVerificationError, "the certificate of the mail server is not valid"),
    (ssl.SSLError, "TLS could not be agreed on with the mail server; see TRUELIFT_SMTP_SECURITY"),
    (TimeoutError, "the mail server did not answer in time"),
    (OSError, "the mail server could not be reached; see TRUELIFT_SMTP_HOST and TRUELIFT_SMTP_PORT"),
)


def send_mail(
    settings: Settings, mail: EmailMessage, addresses: Collection[str], *, timeout: float = TIMEOUT_SECONDS
) -> Mapping[str, int]:
    """Send an e-mail, and return the codes of the addresses that were refused; SendingError."""
    if settings.smtp_host is None:
        raise SendingError("the service has no mail server: its operator sets TRUELIFT_SMTP_HOST")
    server = None
    try:
        server = _connection(settings, settings.smtp_host, timeout)
        refused = server.send_message(mail, settings.smtp_from, [*addresses])
    except smtplib.SMTPRecipientsRefused as error:
        refused = error.recipients
    except (smtplib.SMTPException, OSError) as error:
        raise SendingError(_sentence(error)) from None
    finally:
        # A message that was accepted stays so, however the server ends.
        if server is not None:
            with suppress(smtplib.SMTPException, OSError):
                server.quit()
            server.close()
    return {address: code for address, (code, _) in refused.items()}


def are_permanent(codes: Collection[int]) -> bool:
    """Return whether every refusal stays."""
    return all(code >= _PERMANENT for code in codes)


def _connection(settings: Settings, host: str, timeout: float) -> smtplib.SMTP:
    context = ssl.create_default_context()
    server = (
        smtplib.SMTP_SSL(host, settings.smtp_port, timeout=timeout, context=context)
        if settings.smtp_security == "tls"
        else smtplib.SMTP(host, settings.smtp_port, timeout=timeout)
    )
    try:
        if settings.smtp_security == "starttls":
            server.starttls(context=context)
        if settings.smtp_user is not None and settings.smtp_password is not None:
            server.login(settings.smtp_user, settings.smtp_password.get_secret_value())
    except BaseException:
        server.close()
        raise
    return server


def _sentence(error: Exception) -> str:
    said = next(sentence for kind, sentence in _SENTENCES if isinstance(error, kind))
    code = getattr(error, "smtp_code", None)
    return said if code is None else f"{said} ({code})"
