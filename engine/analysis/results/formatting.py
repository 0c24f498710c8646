"""Formatting of percents, changes and money in sentences."""


def chance(value: float) -> str:
    """Format a probability as a percent, never as 0% or 100%."""
    if value < 0.0001:
        return "less than 0.01%"
    return "more than 99.99%" if value > 0.9999 else share(value)


def share(value: float) -> str:
    """Format a share as a percent, to about three digits."""
    return _trimmed(f"{value:.2%}" if value < 0.1 or value > 0.99 else f"{value:.1%}")


def signed(value: float) -> str:
    """Format a relative change in percent, with its sign."""
    return _with_minus(_trimmed(f"{value:+.1%}"))


def money(cents: float, currency: str) -> str:
    """Format an amount of money with its currency, whole where it is large."""
    amount = cents / 100
    return _with_minus(f"{amount:,.0f} {currency}" if abs(amount) >= 1000 else f"{amount:,.2f} {currency}")


def _trimmed(percent: str) -> str:
    number = percent.removesuffix("%")
    return f"{number.rstrip('0').rstrip('.')}%" if "." in number else percent


def _with_minus(figure: str) -> str:
    # A hyphen may be broken off at the end of a line; the minus sign stays with its number.
    return figure.replace("-", "\N{MINUS SIGN}")
