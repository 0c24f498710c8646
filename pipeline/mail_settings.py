"""Settings of the mail server that e-mails of notification channels are sent by."""

import re
from typing import Final, Literal, Self

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

_ADDRESS: Final = re.compile(r"[!-?A-~]+@[!-?A-~]+", re.ASCII)


class MailSettings(BaseModel):
    """Where e-mails are sent, as whom, and from which address."""

    smtp_host: str | None = Field(
        None, description="Mail server of notification channels by e-mail, which are refused if it is unset."
    )
    smtp_port: int = Field(587, gt=0, lt=65_536, description="Port of the mail server.")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        "starttls",
        description="`starttls`, or `tls` from the first byte, each with a valid certificate; or `none`.",
    )
    smtp_user: str | None = Field(None, description="User at the mail server; no login if unset.")
    smtp_password: SecretStr | None = Field(None, description="Password of that user.")
    smtp_from: str | None = Field(
        None, description="Address that e-mails are from, such as `truelift@shop.example`; needed for them."
    )

    @field_validator("smtp_from")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS.fullmatch(value):
            raise ValueError("is not an e-mail address such as truelift@shop.example")
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.smtp_host is not None and self.smtp_from is None:
            raise ValueError("TRUELIFT_SMTP_HOST needs TRUELIFT_SMTP_FROM, the address that e-mails are from")
        if (self.smtp_user is None) != (self.smtp_password is None):
            raise ValueError("TRUELIFT_SMTP_USER and TRUELIFT_SMTP_PASSWORD need each other")
        return self
