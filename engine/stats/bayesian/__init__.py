"""Bayesian posteriors, priors, partial pooling and sampling."""
