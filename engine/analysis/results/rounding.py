"""Rounding of percents that are compared with a threshold."""

DECIMALS = 2


def round_percent(share: float) -> float:
    """Convert a share to a percent of two decimals: 118/1412 is 8.36."""
    # Adding zero makes a rounded -0.0 a plain 0.0.
    return round(100.0 * share, DECIMALS) + 0.0


def round_beside(share: float, threshold: float) -> float:
    """Convert a share to a percent of two decimals on its own side of a threshold rounded in the same way.

    Both are shares. Below the threshold the percent stays below it, and above its complement, up to which a
    variant is worse, above that: 0.94998 is 94.99 beside a threshold of 0.95, and 95.0 is at least 0.95.
    """
    percent, least = round_percent(share), round_percent(threshold)
    step, worse = 10.0**-DECIMALS, round_percent(1.0 - threshold)
    if share < threshold and percent >= least:
        return round(least - step, DECIMALS)
    if share > 1.0 - threshold and percent <= worse < least:
        return round(worse + step, DECIMALS)
    return percent
