"""Hierarchical models by sampling: exact for few conversions, and a check of the closed form.

Segments lie along the last axis, families of them along the others, as in `shrinkage`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.errors import InvalidEvidenceError, NotConvergedError
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian import convergence
from engine.stats.bayesian.sampling import (
    Sampler,
    Sampling,
    choose_sampler,
    draw,
)
from engine.stats.bayesian.shrinkage import SPREAD_SCALE, Shrunk
from engine.stats.contingency import Tables, log_odds_ratios
from engine.stats.estimates import Estimate

__all__ = ["Diagnostics", "Sampled", "Sampling", "Summary", "sample_effects", "sample_shares"]

# Vehtari et al. (2021), section 4: R-hat below this, and 100 effective draws per chain.
MOST_R_HAT = 1.01
FEWEST_DRAWS_A_CHAIN = 100
# Divergent draws indicate regions that the sampler misses; single ones do no harm.
MOST_DIVERGENT = 0.001

# Weak priors of the shares' model, deviations on the log-odds scale: no segment converts fewer than one in
# 20,000, and no change multiplies the odds by more than a hundred, with 95%.
BASE_DEVIATION = 5.0
CENTRE_DEVIATION = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """Convergence diagnostics: the worst over all quantities, and the settings of the sampler.

    `r_hat` is near 1 where the chains agree; `bulk_size` and `tail_size` are the effective sample sizes of
    means and of the ends of intervals; `divergences` counts draws, out of `chains` times `draws`.
    """

    r_hat: float
    bulk_size: float
    tail_size: float
    divergences: int
    draws: int
    chains: int
    seed: int
    sampler: Sampler

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the chains did not converge; empty where they did."""
        fewest, all_draws = FEWEST_DRAWS_A_CHAIN * self.chains, self.chains * self.draws
        found = (
            # Negated, so that NaN fails too.
            (not self.r_hat <= MOST_R_HAT, f"R-hat is {self.r_hat:.3f}, above {MOST_R_HAT}"),
            (
                not min(self.bulk_size, self.tail_size) >= fewest,
                (
                    f"the draws are worth {self.bulk_size:.0f} independent ones in the bulk and "
                    f"{self.tail_size:.0f} in the tails, fewer than {fewest}"
                ),
            ),
            (
                self.divergences > MOST_DIVERGENT * all_draws,
                f"{self.divergences} of {all_draws} draws diverged, more than {MOST_DIVERGENT:.1%}",
            ),
        )
        return tuple(reason for is_wrong, reason in found if is_wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Summary of a posterior: its mean, standard deviation and an interval, elementwise; NaN where none."""

    mean: FloatArray
    deviation: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Posteriors by sampling: `effects` as the closed form gives them, of every family.

    `error` is the Monte-Carlo standard error of each effect's mean. `centre` and `spread` are the mean and
    the standard deviation of the distribution that a family's effects come from.
    """

    effects: Shrunk
    error: FloatArray
    centre: Summary
    spread: Summary
    diagnostics: Diagnostics


def sample_effects(
    effects: Estimate,
    *,
    alpha: float = 0.05,
    spread_scale: float = SPREAD_SCALE,
    sampling: Sampling | None = None,
) -> Sampled:
    """Sample the model of `shrinkage.shrink`; results differ from its by Monte-Carlo error alone.

    effect_i ~ N(theta_i, v_i), theta_i ~ N(mu, tau²), mu flat, tau half-normal. Raises InvalidEvidenceError
    where no family has two effects of known variance, NotConvergedError where the chains did not converge,
    MissingSamplerError without PyMC, and SamplingError where the process fails.
    """
    segments = _Segments(effects, spread_scale)
    data = {"error": np.sqrt(effects.variance[segments.defined])}
    return segments.sample(data, alpha, sampling or Sampling())


def sample_shares(
    tables: Tables,
    *,
    alpha: float = 0.05,
    spread_scale: float = SPREAD_SCALE,
    sampling: Sampling | None = None,
) -> Sampled:
    """Sample log odds ratios of variant over control from the counts, exact for few conversions.

    hits_i ~ Binomial(n_i, p_i) in either arm, logit(p_variant,i) - logit(p_control,i) = theta_i ~
    N(mu, tau²), tau half-normal, mu and each segment's base weakly normal: model 4 of Jackson et al. (2018),
    "A comparison of seven random-effects models for meta-analyses that estimate the summary odds ratio",
    Statistics in Medicine 37, with priors. No half is added to any cell. Bases are not pooled, so that only
    visitors of one segment are compared with one another. Raises as `sample_effects` does, and
    InvalidEvidenceError for counts that are not whole.
    """
    counts = {name: getattr(tables, name) for name in ("hits", "n", "control_hits", "control_n")}
    if any((count != np.round(count)).any() for count in counts.values()):
        raise InvalidEvidenceError("conversions and visitors must be whole numbers")
    segments = _Segments(log_odds_ratios(tables), spread_scale)
    here = {name: count[segments.defined].astype(np.int64) for name, count in counts.items()}
    hit = here["hits"] + here["control_hits"] + 0.5
    miss = here["n"] + here["control_n"] + 1.0 - hit
    data = {
        **here,
        "base_start": np.log(hit / miss),
        "base_unit": np.sqrt(1.0 / hit + 1.0 / miss),
        "base_deviation": np.asarray(BASE_DEVIATION),
        "centre_deviation": np.asarray(CENTRE_DEVIATION),
    }
    return segments.sample(data, alpha, sampling or Sampling())


class _Segments:
    """Segments with a family, the number of their family, and their rough estimates."""

    def __init__(self, rough: Estimate, spread_scale: float) -> None:
        known = rough.defined & (rough.variance > 0)
        self.defined = known & (known.sum(axis=-1, keepdims=True) >= 2)
        self.some = self.defined.any(axis=-1)
        if not self.some.any():
            raise InvalidEvidenceError(
                "there is nothing to pool: no family has two segments or more with visitors in both arms"
            )
        # Families without segments have no number, so that those with some follow one another.
        number = np.cumsum(self.some.ravel()) - 1
        self.data: dict[str, npt.NDArray[Any]] = {
            "family": number[np.flatnonzero(self.defined) // self.defined.shape[-1]],
            "rough": rough.value[self.defined],
            "rough_variance": rough.variance[self.defined],
            "spread_scale": np.asarray(spread_scale),
        }

    def sample(self, data: dict[str, npt.NDArray[Any]], alpha: float, how: Sampling) -> Sampled:
        sampler = choose_sampler(how.sampler)
        drawn = draw({**self.data, **data}, how, sampler)
        effect, centre, spread = drawn["effect"], drawn["centre"], drawn["spread"]
        diagnostics = _diagnose(np.concatenate([effect, centre, spread], axis=-1), drawn, how, sampler)
        if reasons := diagnostics.reasons:
            raise NotConvergedError(reasons, _REMEDY)
        each, centres = _summarize(effect, alpha, self.defined), _summarize(centre, alpha, self.some)
        spreads = _summarize(spread, alpha, self.some)
        return Sampled(
            effects=Shrunk(
                mean=each.mean,
                deviation=each.deviation,
                low=each.low,
                high=each.high,
                chance=_placed((effect > 0).mean(axis=(0, 1)), self.defined),
                centre=centres.mean,
                spread=spreads.mean,
                defined=self.defined,
            ),
            error=_placed(convergence.error_of_mean(effect), self.defined),
            centre=centres,
            spread=spreads,
            diagnostics=diagnostics,
        )


_REMEDY = (
    "Sample more (draws and warmup), with a higher target_accept where draws diverged; or use the closed form"
)


def _diagnose(
    chains: FloatArray, drawn: dict[str, npt.NDArray[Any]], how: Sampling, sampler: Sampler
) -> Diagnostics:
    return Diagnostics(
        r_hat=float(convergence.r_hat(chains).max()),
        bulk_size=float(convergence.bulk_size(chains).min()),
        tail_size=float(convergence.tail_size(chains).min()),
        divergences=int(drawn["divergences"]),
        draws=how.draws,
        chains=how.chains,
        seed=how.seed,
        sampler=sampler,
    )


def _summarize(chains: FloatArray, alpha: float, where: BoolArray) -> Summary:
    low, high = np.quantile(chains, [alpha / 2.0, 1.0 - alpha / 2.0], axis=(0, 1))
    mean, deviation = chains.mean(axis=(0, 1)), chains.std(axis=(0, 1), ddof=1)
    return Summary(
        mean=_placed(mean, where),
        deviation=_placed(deviation, where),
        low=_placed(low, where),
        high=_placed(high, where),
    )


def _placed(values: FloatArray, where: BoolArray) -> FloatArray:
    """Place values where `where` is True, NaN elsewhere."""
    placed = np.full(where.shape, np.nan)
    placed[where] = values
    return placed
