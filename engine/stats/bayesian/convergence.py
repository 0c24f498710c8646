"""Convergence diagnostics: rank-normalized R-hat and effective sample sizes.

Chains are arrays of (chains, draws, quantities). Vehtari et al. (2021), "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16.
"""

import numpy as np
import scipy

from engine.stats.arrays import FloatArray


def r_hat(chains: FloatArray) -> FloatArray:
    """Compute the rank-normalized R-hat: near 1 where the chains have the same distribution.

    The larger of R-hat of the ranks (location) and of the folded ranks (scale). NaN for a constant quantity.
    """
    folded = np.abs(chains - np.median(chains, axis=(0, 1)))
    return np.fmax(_r_hat(_normal_scores(_split(chains))), _r_hat(_normal_scores(_split(folded))))


def bulk_size(chains: FloatArray) -> FloatArray:
    """Compute the effective sample size of the bulk of the distribution, such as its mean."""
    return _effective_size(_normal_scores(_split(chains)))


def tail_size(chains: FloatArray) -> FloatArray:
    """Compute the effective sample size of the tails, such as interval ends: the smaller of 5% and 95%."""
    low, high = np.quantile(chains, [0.05, 0.95], axis=(0, 1))
    sizes = [_effective_size(_split((chains <= end).astype(np.float64))) for end in (low, high)]
    return np.minimum(*sizes)


def error_of_mean(chains: FloatArray) -> FloatArray:
    """Compute the Monte-Carlo standard error of the mean of all draws."""
    return np.asarray(chains.std(axis=(0, 1), ddof=1) / np.sqrt(_effective_size(_split(chains))))


def _split(chains: FloatArray) -> FloatArray:
    """Split each chain in two, so that drift within a chain shows."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: FloatArray) -> FloatArray:
    """Convert ranks among all chains to normal quantiles, so that heavy tails cannot hide a shift."""
    flat = chains.reshape(-1, chains.shape[-1])
    ranks = np.empty_like(flat)
    for quantity in range(flat.shape[1]):
        _, place, count = np.unique(flat[:, quantity], return_inverse=True, return_counts=True)
        ranks[:, quantity] = (np.cumsum(count) - (count - 1) / 2.0)[place]
    return np.asarray(scipy.special.ndtri((ranks - 0.375) / (len(flat) + 0.25))).reshape(chains.shape)


def _r_hat(chains: FloatArray) -> FloatArray:
    draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    ratio = np.divide(between, within, out=np.full(within.shape, np.nan), where=within > 0)
    return np.asarray(np.sqrt((draws - 1) / draws + ratio))


def _effective_size(chains: FloatArray) -> FloatArray:
    """Compute the number of draws over the integrated autocorrelation time.

    Autocorrelations are summed in pairs until a pair is not above 0, and never rise: Geyer (1992),
    "Practical Markov chain Monte Carlo", Statistical Science 7. NaN for a constant quantity.
    """
    count, draws = chains.shape[:2]
    covariance = _autocovariance(chains).mean(axis=0)
    within = covariance[0] * draws / (draws - 1)
    total = covariance[0] + chains.mean(axis=1).var(axis=0, ddof=1)
    moved = total > 0
    correlation = 1.0 - np.divide(within - covariance, total, out=np.zeros_like(covariance), where=moved)
    correlation[0] = 1.0
    pairs = correlation[: draws // 2 * 2].reshape(draws // 2, 2, -1)
    both = pairs.sum(axis=1)
    until = np.logical_and.accumulate(both > 0, axis=0)
    time = 2.0 * (np.minimum.accumulate(both, axis=0) * until).sum(axis=0) - 1.0
    # Where the sum ends the even lag alone still counts if above 0: that matters to chains that alternate.
    after = np.minimum(until.sum(axis=0), draws // 2 - 1)
    last = np.take_along_axis(pairs[:, 0], after[None], axis=0)[0]
    time = time + np.maximum(last, 0.0) * ~until.all(axis=0)
    # Alternating chains can be worth more draws than they have, within reason.
    time = np.maximum(time, 1.0 / np.log10(count * draws))
    return np.where(moved, count * draws / time, np.nan)


def _autocovariance(chains: FloatArray) -> FloatArray:
    """Biased autocovariances at every lag of the draws, by Fourier transform."""
    draws = chains.shape[1]
    apart = chains - chains.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(apart, n=2 * draws, axis=1)) ** 2
    covariance: FloatArray = np.fft.irfft(power, n=2 * draws, axis=1)[:, :draws] / draws
    return covariance
