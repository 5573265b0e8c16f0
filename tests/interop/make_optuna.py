"""What Optuna's TPE and the package cmaes compute of given trials: weights, kernels and densities of Parzen estimators, which trials are
good, domination and hypervolumes, and how CMA-ES learns from generations.

Numbers only: what is drawn at random differs, and both are right.
"""
import json
import pathlib
import sys

import cmaes
import numpy as np
import optuna
from optuna._hypervolume.hssp import _solve_hssp
from optuna._hypervolume.wfg import compute_hypervolume
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters
from optuna.samplers._tpe.sampler import _get_reference_point, _split_trials, default_gamma, default_gamma_multiobjective, default_weights
from optuna.study._multi_objective import _fast_non_domination_rank
from optuna.trial import TrialState, create_trial

SPACE = {
    "rate": FloatDistribution(1e-4, 1e-1, log=True),
    "share": FloatDistribution(-1.0, 2.0),
    "rung": FloatDistribution(0.0, 1.0, step=0.05),
    "size": IntDistribution(1, 40),
    "width": IntDistribution(1, 300, log=True),
    "model": CategoricalDistribution(("a", "b", "c", "d")),
}


def drawn(draw, name, distribution, count):
    if isinstance(distribution, CategoricalDistribution):
        return draw.integers(0, len(distribution.choices), count).astype(float)
    low, high = distribution.low, distribution.high
    if isinstance(distribution, IntDistribution):
        # No value twice: Optuna sorts kernels of one value in no certain order.
        return draw.permutation(np.arange(low, high + 1))[:count].astype(float)
    if distribution.step is not None:
        return low + distribution.step * draw.permutation(round((high - low) / distribution.step) + 1)[:count]
    return np.exp(draw.uniform(np.log(low), np.log(high), count)) if distribution.log else draw.uniform(low, high, count)


def with_repetitions(draw, distribution, count):
    if isinstance(distribution, CategoricalDistribution):
        return draw.integers(0, len(distribution.choices), count).astype(float)
    return drawn(draw, "", distribution, count)


def parzen(seed, names, observed, prior_weight=1.0, magic_clip=True):
    draw = np.random.default_rng(seed)
    space = {name: SPACE[name] for name in names}
    observations = {name: drawn(draw, name, space[name], observed) for name in names}
    points = {name: with_repetitions(draw, space[name], 12) for name in names}
    estimator = _ParzenEstimator(observations, space, _ParzenEstimatorParameters(prior_weight, magic_clip, False, default_weights, True))
    mixture = estimator._mixture_distribution
    kernels = {name: {"centres": list(d.mu), "widths": list(d.sigma)} for name, d in zip(names, mixture.distributions) if hasattr(d, "mu")}
    return {"names": names, "observations": {n: list(v) for n, v in observations.items()}, "points": {n: list(v) for n, v in points.items()},
            "prior_weight": prior_weight, "magic_clip": magic_clip, "weights": list(mixture.weights), "kernels": kernels,
            "log_density": list(estimator.log_pdf(points))}


def split(seed, directions, count, stopped=0.0):
    draw = np.random.default_rng(seed)
    study = optuna.create_study(directions=directions)
    trials = []
    for number in range(count):
        x = float(draw.uniform())
        is_stopped, is_running = draw.uniform() < stopped, draw.uniform() < 0.05
        values = [round(float(v), 2) for v in draw.normal(size=len(directions))]
        reports = {step: round(float(draw.normal()), 2) for step in range(1, int(draw.integers(1, 6)))} if is_stopped else {}
        state = TrialState.RUNNING if is_running else TrialState.PRUNED if is_stopped else TrialState.COMPLETE
        trial = create_trial(state=state, params={"x": x}, distributions={"x": FloatDistribution(0, 1)}, intermediate_values=reports,
                             values=values if state == TrialState.COMPLETE else None)
        trial.number = number
        trials.append(trial)
    ended = sum(trial.state != TrialState.RUNNING for trial in trials)
    good, _ = _split_trials(study, trials, (default_gamma if len(directions) == 1 else default_gamma_multiobjective)(ended))
    rows = [{"state": t.state.name, "values": t.values, "reports": sorted(t.intermediate_values.items())} for t in trials]
    return {"directions": directions, "trials": rows, "good": [trial.number for trial in good]}


def pareto(seed, objectives, count, digits):
    draw = np.random.default_rng(seed)
    points = np.round(draw.uniform(-1, 1, (count, objectives)), digits)  # few digits: copies
    reference = _get_reference_point(points)
    ranks = _fast_non_domination_rank(points)
    front = np.flatnonzero(ranks == 0)
    chosen = _solve_hssp(points[front], front, len(front) // 2, reference)
    return {"points": points.tolist(), "reference": reference.tolist(), "ranks": ranks.tolist(), "hypervolume": float(compute_hypervolume(points, reference)),
            "front": front.tolist(), "chosen": sorted(int(i) for i in chosen)}


def state(optimizer):
    return {"mean": optimizer.mean.tolist(), "sigma": float(optimizer._sigma), "covariance": optimizer._C.tolist(),
            "path_of_sigma": optimizer._p_sigma.tolist(), "path_of_covariance": optimizer._pc.tolist()}


def cma(seed, dimensions, generations, population=None):
    draw = np.random.default_rng(seed)
    scales = 10 ** draw.uniform(-1, 1, dimensions)
    best = draw.uniform(0.2, 0.8, dimensions)
    optimizer = cmaes.CMA(mean=np.full(dimensions, 0.5), sigma=1 / 6, bounds=np.tile([0.0, 1.0], (dimensions, 1)), seed=seed, population_size=population)
    made = {"population": optimizer.population_size, "given": population or 0, "generations": []}
    for _ in range(generations):
        points = [np.round(optimizer.ask(), 4) for _ in range(optimizer.population_size)]
        ranked = sorted(points, key=lambda x: float(np.sum(scales * (x - best) ** 2)))
        optimizer.tell([(x, float(i)) for i, x in enumerate(ranked)])
        made["generations"].append({"ranked": [x.tolist() for x in ranked], **state(optimizer)})
    return made


def warm_start(seed, dimensions, count):
    draw = np.random.default_rng(seed)
    ranked = [x for x in draw.uniform(0, 1, (count, dimensions))]
    mean, sigma, covariance = cmaes.get_warm_start_mgd([(x, float(i)) for i, x in enumerate(ranked)])
    return {"ranked": [x.tolist() for x in ranked], "mean": mean.tolist(), "sigma": float(sigma), "covariance": covariance.tolist()}


def main(folder):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = list(SPACE)
    made = {
        "space": {name: {"low": getattr(d, "low", 0), "high": getattr(d, "high", 0), "step": getattr(d, "step", None) or 0, "log": getattr(d, "log", False),
                         "choices": len(getattr(d, "choices", ()))} for name, d in SPACE.items()},
        "parzen": [parzen(i, [name], count) for i, (name, count) in enumerate((name, count) for name in names for count in (0, 1, 2, 15))]
        + [parzen(100, ["rate", "share", "model"], 60), parzen(101, ["rate", "share", "model"], 26), parzen(102, names, 12),
           parzen(103, names, 20, prior_weight=0.5), parzen(104, ["rate", "share"], 30, magic_clip=False)],
        "split": [split(200, ["minimize"], 37), split(201, ["maximize"], 300), split(202, ["minimize"], 60, stopped=0.7), split(203, ["maximize"], 40, stopped=0.95),
                  split(204, ["maximize", "minimize"], 83), split(205, ["minimize", "minimize", "maximize"], 151), split(206, ["minimize"] * 4, 60)],
        "pareto": [pareto(300, 1, 30, 1), pareto(301, 2, 60, 1), pareto(302, 2, 200, 6), pareto(303, 3, 80, 1), pareto(304, 3, 80, 6), pareto(305, 4, 40, 6)],
        "cma": [cma(400, 2, 20), cma(401, 5, 25), cma(402, 10, 8), cma(403, 3, 10, 12), cma(404, 1, 10)],
        "warm_start": [warm_start(500, 3, 40), warm_start(501, 2, 10)],
    }
    (pathlib.Path(folder) / "optuna.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
