"""Money in browsers' events: the largest amount, and refusal where only servers report money."""

from typing import Final

import msgspec

from engine.currencies import minor_units
from engine.design.project import Project
from pipeline.events.rejections import RejectedError

# Units of a currency that a US dollar buys, as rough magnitudes chosen for a bound on amounts: powers of ten
# from general knowledge, without a source of rates.
_SMALL_UNITS: Final = {
    **dict.fromkeys("ALL DZD HUF ISK JPY KES LKR NPR PKR RSD XAF XOF XPF".split(), 100),  # noqa: SIM905
    **dict.fromkeys(
        "AOA ARS BIF CDF CLP COP GNF IQD KHR KRW MGA MMK MNT MWK NGN PYG RWF TZS UGX YER".split(),  # noqa: SIM905
        1_000,
    ),
    **dict.fromkeys("IDR IRR LAK LBP UZS VND".split(), 10_000),  # noqa: SIM905
}


class BrowserMoney(msgspec.Struct, frozen=True):
    """Limits of the money that a project takes from browsers.

    `most` is the largest amount in units of about a US dollar, `currency` that of events without one;
    `is_refused` where the project takes money and refunds from servers only.
    """

    most: int
    currency: str
    is_refused: bool

    @classmethod
    def of(cls, project: Project, most: int) -> "BrowserMoney":
        """Take the rules of a project."""
        return cls(most, project.revenue_currency, project.trusted_revenue)

    def check_order(self, cents: int | None, currency: str | None, *, is_refund: bool) -> None:
        """Raise RejectedError for money or a refund that a browser may not report."""
        if self.is_refused and (is_refund or cents):
            raise RejectedError(
                "untrusted_revenue",
                "the project takes revenue and refunds from servers only (trusted_revenue); send this one "
                "from your server with an API key",
            )
        self.check_cents(cents or 0, currency or self.currency)

    def check_cents(self, cents: int, currency: str) -> None:
        """Raise RejectedError for minor units of a currency above the largest amount."""
        self._check_amount("revenue_cents", cents / minor_units(currency), currency)

    def check_value(self, value: float | None) -> None:
        """Raise RejectedError for a value, counted as money, above the largest amount."""
        self._check_amount("value", abs(value or 0), self.currency)

    def _check_amount(self, field: str, units: float, currency: str) -> None:
        most = self.most * _SMALL_UNITS.get(currency, 1)
        if units > most:
            raise RejectedError(
                "amount_too_large",
                f"{field} is above {most:,} {currency}, the most that a browser may report; send it from "
                "your server with an API key, or raise TRUELIFT_BROWSER_AMOUNT_LIMIT",
            )
