"""Sampler process: data from standard input, draws to standard output.

A family of effects is drawn from one normal distribution, and each segment belongs to one family. Inputs and
outputs are archives of NumPy arrays without pickles; `engine.stats.bayesian.sampling` documents them.
"""

import faulthandler
import io
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]


def main() -> None:
    """Process one request; library output goes to standard error, apart from the draws."""
    answer_to = os.dup(1)
    os.dup2(2, 1)
    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as archive:
        request = dict(archive)
    # The calling process may be gone: then nothing else would end this one.
    faulthandler.dump_traceback_later(float(request["timeout_seconds"]) + 5.0, exit=True)
    answer = io.BytesIO()
    np.savez(answer, **draw(request))
    with os.fdopen(answer_to, "wb") as out:
        out.write(answer.getbuffer())


def draw(request: Arrays) -> dict[str, Any]:
    """Draw `effect`, `centre` and `spread` as (chains, draws, quantities), and count divergent draws."""
    pymc = import_module("pymc")
    model = build_model(pymc, request)
    settings = {
        "draws": int(request["draws"]),
        "tune": int(request["warmup"]),
        "chains": int(request["chains"]),
        "target_accept": float(request["target_accept"]),
    }
    seed = int(request["seed"])
    if str(request["sampler"]) == "nutpie":
        nutpie = import_module("nutpie")
        compiled = nutpie.compile_pymc_model(model)
        trace = nutpie.sample(compiled, seed=seed, progress_bar=False, **settings)
    else:
        # One core: PyMC would fork for more, and those would outlive this process.
        with model:
            trace = pymc.sample(
                cores=1,
                random_seed=seed,
                progressbar=False,
                compute_convergence_checks=False,
                # Numba needs no C compiler on the machine.
                compile_kwargs={"mode": "NUMBA"},
                **settings,
            )
    draws = {name: trace["posterior"][name].to_numpy() for name in ("effect", "centre", "spread")}
    return {**draws, "divergences": trace["sample_stats"]["diverging"].to_numpy().sum()}


def build_model(pymc: Any, data: Arrays) -> Any:  # noqa: ANN401  # a module, and a model of its
    """Build the model: effect = centre + spread * a with a ~ N(0, 1), and a normal or a binomial likelihood.

    What is sampled are `from_rough_centre` and `from_rough_effect`: centre and a in units of how well they
    are known given the spread, were each segment's `rough` value normal. Those are near to standard normal
    and hardly depend on the spread, whether segments say much or little; the Jacobian makes the posterior
    that of centre and a, however rough `rough` is. Papaspiliopoulos et al. (2007), "A general framework for
    the parametrization of hierarchical models", Statistical Science 22.
    """
    tensor = import_module("pytensor.tensor")
    family, rough, variance = data["family"], data["rough"], data["rough_variance"]
    families = int(family.max()) + 1
    member = (family == np.arange(families)[:, None]).astype(np.float64)
    with pymc.Model() as model:
        spread = pymc.HalfNormal("spread", float(data["spread_scale"]), shape=families)
        spread_each = tensor.dot(spread, member)
        total = variance + spread_each**2
        information = tensor.dot(member, 1.0 / total)
        centre = pymc.Deterministic(
            "centre",
            tensor.dot(member, rough / total) / information
            + pymc.Flat("from_rough_centre", shape=families) / tensor.sqrt(information),
        )
        own = pymc.Flat("from_rough_effect", shape=len(family))
        centre_each = tensor.dot(centre, member)
        apart = spread_each * (rough - centre_each) / total + tensor.sqrt(variance / total) * own
        effect = pymc.Deterministic("effect", centre_each + spread_each * apart)
        pymc.Potential("prior", -0.5 * (apart**2).sum())
        pymc.Potential("jacobian", -0.5 * (tensor.log(total).sum() + tensor.log(information).sum()))
        if "error" in data:
            pymc.Normal("seen", effect, data["error"], observed=rough)
        else:
            pymc.Potential("centre_prior", -0.5 * ((centre / float(data["centre_deviation"])) ** 2).sum())
            _add_shares(pymc, effect, data)
    return model


def _add_shares(pymc: Any, effect: Any, data: Arrays) -> None:  # noqa: ANN401  # a module and a variable
    """Add the conversions of both arms; the base lies between them, to decorrelate it from the effect."""
    start, unit = data["base_start"], data["base_unit"]
    # In units of its own uncertainty: a change of variable, not of the prior.
    scaled = pymc.Normal("base", -start / unit, float(data["base_deviation"]) / unit, shape=len(start))
    base = start + unit * scaled
    share = data["n"] / (data["n"] + data["control_n"])
    pymc.Binomial("hits", data["n"], logit_p=base + (1.0 - share) * effect, observed=data["hits"])
    pymc.Binomial(
        "control_hits", data["control_n"], logit_p=base - share * effect, observed=data["control_hits"]
    )


if __name__ == "__main__":
    main()
