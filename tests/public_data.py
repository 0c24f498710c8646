"""Public experiments for tests: the published files, or generated tables of the same shape.

`tests/data/README.md` describes where the published files are looked for.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import stats

FOLDER: Final = Path(os.environ.get("TESTS_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
LANDING_PAGE: Final = "landing_page.csv"
EMAIL_CHALLENGE: Final = "hillstrom.csv"
GENERATED: Final = "generated"
PUBLISHED: Final = "published"

# Visitors and conversions, by variant.
Counts = Mapping[str, tuple[int, int]]


def sources(name: str) -> list[str]:
    """List what a test of a public experiment runs on: a generated table, and the published file if there."""
    return [GENERATED, PUBLISHED] if (FOLDER / name).is_file() else [GENERATED]


@dataclass(frozen=True, slots=True)
class LandingPage:
    """A landing-page test, and figures of it that were computed outside the engine."""

    path: Path
    # Of visitors of one page only; a visitor has converted where any row has.
    counts: Counts
    p_value: float
    visitors_of_both_pages: int


@dataclass(frozen=True, slots=True)
class EmailChallenge:
    """An experiment with two e-mails, and figures of it that were computed outside the engine."""

    path: Path
    visits: Counts
    # Two-sided, of an e-mail against no e-mail, by goal and variant.
    p_values: Mapping[tuple[str, str], float]


def landing_page(source: str, folder: Path) -> LandingPage:
    """Return the experiment from a source; a generated table is written into `folder`."""
    if source == PUBLISHED:
        return LandingPage(
            path=FOLDER / LANDING_PAGE,
            counts={"old_page": (28_806, 3_516), "new_page": (28_798, 3_421)},
            # z = -1.2038566506704: statsmodels' proportions_ztest.
            p_value=0.228644989175,
            visitors_of_both_pages=76,
        )
    table = generate_landing_page()
    table.write_csv(folder / LANDING_PAGE)
    visitors = table.group_by("user_id").agg(
        pl.col("landing_page").n_unique().alias("pages"),
        pl.col("landing_page").first(),
        pl.col("converted").max(),
    )
    once = visitors.filter(pl.col("pages") == 1)
    counts = _counts(once, "landing_page", "converted")
    return LandingPage(
        path=folder / LANDING_PAGE,
        counts=counts,
        p_value=_p_of_shares(counts["new_page"], counts["old_page"]),
        visitors_of_both_pages=visitors.height - once.height,
    )


def email_challenge(source: str, folder: Path) -> EmailChallenge:
    """Return the experiment from a source; a generated table is written into `folder`."""
    if source == PUBLISHED:
        return EmailChallenge(
            path=FOLDER / EMAIL_CHALLENGE,
            visits={
                "No E-Mail": (21_306, 2_262),
                "Mens E-Mail": (21_307, 3_894),
                "Womens E-Mail": (21_387, 3_238),
            },
            # statsmodels' proportions_ztest of shares, SciPy's Welch test of means.
            p_values={
                ("visit", "Mens E-Mail"): 5.685165e-112,
                ("conversion", "Womens E-Mail"): 1.5710512910668e-04,
                ("spend", "Mens E-Mail"): 1.163814968e-07,
                ("spend", "Womens E-Mail"): 1.129397102e-03,
            },
        )
    table = generate_email_challenge()
    table.write_csv(folder / EMAIL_CHALLENGE)
    visits, conversions = (_counts(table, "segment", goal) for goal in ("visit", "conversion"))
    spend = {str(name): part["spend"].to_numpy() for (name,), part in table.group_by("segment")}
    control = "No E-Mail"
    return EmailChallenge(
        path=folder / EMAIL_CHALLENGE,
        visits=visits,
        p_values={
            ("visit", "Mens E-Mail"): _p_of_shares(visits["Mens E-Mail"], visits[control]),
            ("conversion", "Womens E-Mail"): _p_of_shares(conversions["Womens E-Mail"], conversions[control]),
            **{
                ("spend", mail): float(stats.ttest_ind(spend[mail], spend[control], equal_var=False).pvalue)
                for mail in ("Mens E-Mail", "Womens E-Mail")
            },
        },
    )


def generate_landing_page() -> pl.DataFrame:
    """Draw a test without an effect: 12% convert, some visitors come twice, and some see both pages."""
    rng, visitors = np.random.default_rng(2017), 57_680
    twice, both = 72, 76
    treated = rng.random(visitors) < 0.5
    # Whose second row is of the same page, then whose is of the other one.
    visitor = np.concatenate([np.arange(visitors), np.arange(twice + both)])
    is_new = np.concatenate([treated, treated[:twice], ~treated[twice : twice + both]])
    rows = visitor.size
    is_treatment = is_new ^ (rng.random(rows) < 0.014)
    seconds = np.sort(rng.uniform(0, 22 * 86_400, rows))
    table = pl.DataFrame(
        {
            "user_id": 600_000 + 5 * rng.permutation(visitors)[visitor],
            "group": np.where(is_treatment, "treatment", "control"),
            "landing_page": np.where(is_new, "new_page", "old_page"),
            "converted": (rng.random(rows) < 0.12).astype(int),
            "country": _drawn(rng, {"US": 0.7, "UK": 0.25, "CA": 0.05}, visitors)[visitor],
        }
    ).sample(fraction=1.0, shuffle=True, seed=2017)
    begin = datetime(2017, 1, 2, 13, 42, 41)  # noqa: DTZ001 # the file says UTC nowhere
    times = [(begin + timedelta(seconds=at)).isoformat(" ", "microseconds") for at in seconds.tolist()]
    return table.with_columns(pl.Series("timestamp", times)).select(
        "user_id", "timestamp", "group", "landing_page", "converted", "country"
    )


def generate_email_challenge() -> pl.DataFrame:
    """Draw an experiment in which both e-mails win, and the amounts spent are mostly zero."""
    rng, rows = np.random.default_rng(2008), 64_000
    arm = rng.integers(0, 3, rows)
    history = np.maximum(29.99, rng.lognormal(5.0, 1.05, rows)).round(2)
    # Past customers who spent more come back a little more often.
    taste = 1 + 0.1 * (np.log(history) - np.log(history).mean())
    visit = rng.random(rows) < np.array([0.106, 0.183, 0.151])[arm] * taste
    conversion = visit & (rng.random(rows) < np.array([0.054, 0.069, 0.058])[arm] * taste)
    spend = np.where(conversion, rng.lognormal(4.4, 0.83, rows), 0.0).round(2)
    bounds = [100, 200, 350, 500, 750, 1_000]
    names = ["1) $0 - $100", "2) $100 - $200", "3) $200 - $350", "4) $350 - $500", "5) $500 - $750"]
    names += ["6) $750 - $1,000", "7) $1,000 +"]
    mens = rng.random(rows) < 0.55
    return pl.DataFrame(
        {
            "recency": rng.integers(1, 13, rows),
            "history_segment": np.array(names)[np.digitize(history, bounds)],
            "history": history,
            "mens": mens.astype(int),
            "womens": (~mens | (rng.random(rows) < 0.18)).astype(int),
            "zip_code": _drawn(rng, {"Surburban": 0.45, "Urban": 0.4, "Rural": 0.15}, rows),
            "newbie": rng.integers(0, 2, rows),
            "channel": _drawn(rng, {"Web": 0.44, "Phone": 0.44, "Multichannel": 0.12}, rows),
            "segment": np.array(["No E-Mail", "Mens E-Mail", "Womens E-Mail"])[arm],
            "visit": visit.astype(int),
            "conversion": conversion.astype(int),
            "spend": spend,
        }
    )


def _drawn(rng: np.random.Generator, shares: Mapping[str, float], size: int) -> Any:
    return rng.choice(list(shares), size, p=list(shares.values()))


def _counts(table: pl.DataFrame, variant: str, goal: str) -> dict[str, tuple[int, int]]:
    by_variant = table.group_by(variant).agg(pl.len().alias("visitors"), pl.col(goal).sum().alias("hits"))
    return {name: (visitors, hits) for name, visitors, hits in by_variant.iter_rows()}


def _p_of_shares(one: tuple[int, int], other: tuple[int, int]) -> float:
    table = [[hits, visitors - hits] for visitors, hits in (one, other)]
    # Without Yates' correction it is the pooled z test of two shares.
    return float(stats.chi2_contingency(table, correction=False).pvalue)
