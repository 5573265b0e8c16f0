"""Reads with Optuna the study that StudyInterop.WritesAStudyForOptuna left in a folder, compares every trial with study.json, and
lets Optuna go on with it."""
import json
import math
import pathlib
import sys

import optuna
from optuna.trial import TrialState

STATES = [TrialState.WAITING, TrialState.RUNNING, TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL]


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


def read_ours(folder):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = f"sqlite:///{folder}/study.db"
    study = optuna.load_study(study_name="ours", storage=url)
    check(study.directions == [optuna.study.StudyDirection.MAXIMIZE, optuna.study.StudyDirection.MINIMIZE], f"directions {study.directions}")
    check(study.metric_names == ["mean_iou", "seconds"], f"metrics {study.metric_names}")
    expected = json.loads((folder / "study.json").read_text())
    trials = study.get_trials()
    check(len(trials) == len(expected), f"{len(trials)} trials, expected {len(expected)}")
    for number, (ours, theirs) in enumerate(zip(expected, trials)):
        compare(number, ours, theirs)
    lr, size = trials[0].distributions["lr"], trials[0].distributions["size"]
    check(lr == optuna.distributions.FloatDistribution(1e-4, 1e-1, log=True), f"lr: {lr}")
    check(size == optuna.distributions.IntDistribution(2, 8, step=2), f"size: {size}")
    check(trials[0].distributions["points"] == optuna.distributions.IntDistribution(1, 100, log=True), "points")
    check(trials[0].distributions["share"] == optuna.distributions.FloatDistribution(0, 1, step=0.25), "share")
    check(trials[0].distributions["name"].choices == ("unet", "fcn", True, 3, 2.5, None), "name")
    check(study.best_trials, "no best trials")
    # Optuna goes on where we stopped.
    trial = study.ask({"lr": lr, "size": size})
    study.tell(trial, [1.0, 2.0])
    check(optuna.load_study(study_name="ours", storage=url).trials[-1].values == [1.0, 2.0], "Optuna's own trial")
    print(f"Optuna {optuna.__version__} reads all {len(expected)} trials, and adds one")


if __name__ == "__main__":
    read_ours(pathlib.Path(sys.argv[1]))
