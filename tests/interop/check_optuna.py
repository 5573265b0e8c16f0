"""Reads with Optuna the studies that StudyInterop.WritesStudiesForOptuna left in a folder, compares every trial with the JSON files, and
lets Optuna go on with them."""
import json
import math
import pathlib
import sys

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

STATES = [TrialState.WAITING, TrialState.RUNNING, TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL]


DISTRIBUTIONS = {
    "lr": FloatDistribution(1e-4, 1e-1, log=True),
    "name": CategoricalDistribution(("unet", "fcn", True, 3, 2.5, None)),
    "size": IntDistribution(2, 8, step=2),
    "points": IntDistribution(1, 100, log=True),
    "share": FloatDistribution(0, 1, step=0.25),
    "mean": FloatDistribution(-6, 6),  # Optuna has no word for normal numbers: their range
}


def check(condition, message):
    if not condition:
        raise SystemExit(f"check_optuna: {message}")


def same(ours, theirs):
    number = float(ours)
    return number == theirs or (math.isnan(number) and math.isnan(theirs))


def compare(number, expected, trial):
    def equal(what, a, b):
        check(a == b, f"trial {number}: {what} is {b!r} in Optuna, {a!r} here")

    equal("number", number, trial.number)
    equal("state", STATES[expected["state"]], trial.state)
    equal("parameters", expected["parameters"], trial.params)
    equal("types", {k: type(v) for k, v in expected["parameters"].items() if k not in ("size", "points")},
          {k: type(v) for k, v in trial.params.items() if k not in ("size", "points")})
    equal("steps", [step for step, _ in expected["reports"]], list(trial.intermediate_values))
    for (step, ours), theirs in zip(expected["reports"], trial.intermediate_values.values()):
        check(same(ours, theirs), f"trial {number}, step {step}: {theirs} in Optuna, {ours} here")
    theirs = trial.values or []
    check(len(theirs) == len(expected["values"]) and all(map(same, expected["values"], theirs)), f"trial {number}: values {theirs}, {expected['values']} here")
    equal("folder", expected["folder"], trial.user_attrs["folder"])
    equal("reason", expected["reason"], trial.user_attrs.get("reason", ""))
    check((trial.datetime_start is None) == (trial.state == TrialState.WAITING), f"trial {number}: begins {trial.datetime_start}")
    check((trial.datetime_complete is not None) == trial.state.is_finished(), f"trial {number}: ends {trial.datetime_complete}")


def read_study(folder, name, directions, metrics):
    url = f"sqlite:///{folder}/study.db"
    study = optuna.load_study(study_name=name, storage=url)
    check([d.name for d in study.directions] == directions, f"directions {study.directions}")
    check(study.metric_names == metrics, f"metrics {study.metric_names}")
    expected = json.loads((folder / f"{name}.json").read_text())
    trials = study.get_trials()
    check(len(trials) == len(expected), f"{len(trials)} trials, expected {len(expected)}")
    for number, (ours, theirs) in enumerate(zip(expected, trials)):
        compare(number, ours, theirs)
    check(trials[0].distributions == DISTRIBUTIONS, f"distributions {trials[0].distributions}")
    check(study.best_trials, "no best trials")
    # Optuna goes on where we stopped: first with a trial that waits, which has its parameters, then with one of its own.
    waiting = [n for n, ours in enumerate(expected) if STATES[ours["state"]] == TrialState.WAITING]
    for number in waiting + [len(expected)]:
        trial = study.ask(DISTRIBUTIONS)
        check(trial.number == number, f"Optuna begins trial {trial.number}, expected {number}")
        check(number not in waiting or trial.params == expected[number]["parameters"], "a waiting trial's parameters")
        values = [1.0, 2.0][:len(directions)]
        study.tell(trial, values)
        check(optuna.load_study(study_name=name, storage=url).trials[number].values == values, "what Optuna found")
    print(f"Optuna {optuna.__version__} reads all {len(expected)} trials of study {name}, runs those that wait and adds one")


def main(folder):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    read_study(folder, "one", ["MAXIMIZE"], ["mean_iou"])
    read_study(folder, "two", ["MAXIMIZE", "MINIMIZE"], ["mean_iou", "seconds"])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
