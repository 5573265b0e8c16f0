"""What Ray Tune's schedulers decide of recorded reports: who stops where with ASHA and median stopping, and PBT's quantiles.

Trials take turns in an order that is drawn too, as on a machine with several slots. Decisions: 0 goes on, 1 stops; 2: it went on and failed.
"""
import json
import os
import pathlib
import random
import sys
import types

os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
from ray.tune.schedulers import ASHAScheduler, MedianStoppingRule, PopulationBasedTraining, TrialScheduler  # noqa: E402


class Trial:
    """As much of Ray's trial as schedulers look at."""

    def __init__(self, number):
        self.number, self.trial_id = number, str(number)

    def is_finished(self):
        return False


NOBODY = types.SimpleNamespace(get_live_trials=lambda: [], get_trials=lambda: [])


def curves(draw, trials, steps):
    """Learning curves with noise, rounded so that some are equal."""
    rows = []
    for _ in range(trials):
        best, speed = draw.uniform(0.3, 0.9), draw.uniform(0.05, 0.8)
        rows.append([round(best * (1 - (1 + step) ** -speed) + draw.gauss(0, 0.02), 2) for step in range(1, steps + 1)])
    return rows


def decisions(scheduler, rows, draw, mode, fails=0):
    trials = [Trial(i) for i in range(len(rows))]
    for trial in trials:
        scheduler.on_trial_add(NOBODY, trial)
    running, events, at = list(range(len(rows))), [], [0] * len(rows)
    while running:
        i = draw.choice(running[:6])  # six slots
        value = rows[i][at[i]]
        at[i] += 1
        action = scheduler.on_trial_result(NOBODY, trials[i], {"training_iteration": at[i], "score": value})
        stopped = action == TrialScheduler.STOP
        failed = not stopped and fails > 0 and draw.random() < fails
        if failed:
            scheduler.on_trial_error(NOBODY, trials[i])
        events.append([i, 2 if failed else int(stopped)])
        if stopped or failed or at[i] == len(rows[i]):
            running.remove(i)
    return {"mode": mode, "reports": rows, "events": events}


def asha(seed, mode, trials, most, grace, reduction, fails=0):
    draw = random.Random(seed)
    scheduler = ASHAScheduler("training_iteration", "score", mode, max_t=most, grace_period=grace, reduction_factor=reduction, brackets=1)
    return {"max": most, "grace": grace, "reduction": reduction, **decisions(scheduler, curves(draw, trials, most), draw, mode, fails)}


def median(seed, mode, trials, steps, grace, samples, fails=0):
    draw = random.Random(seed)
    scheduler = MedianStoppingRule("training_iteration", "score", mode, grace_period=grace, min_samples_required=samples)
    return {"grace": grace, "samples": samples, **decisions(scheduler, curves(draw, trials, steps), draw, mode, fails)}


def pbt(seed, count, fraction):
    draw = random.Random(seed)
    scores = [round(draw.uniform(0, 1), 6) for _ in range(count)]
    scheduler = PopulationBasedTraining("training_iteration", "score", "max", quantile_fraction=fraction, hyperparam_mutations={"lr": [1, 2]})
    scheduler._trial_state = {Trial(i): types.SimpleNamespace(last_score=score) for i, score in enumerate(scores)}
    lowest, highest = scheduler._quantiles()
    return {"scores": scores, "quantile": fraction, "lowest": [t.number for t in lowest], "highest": [t.number for t in highest]}


def main(folder):
    made = {
        "asha": [asha(1, "max", 40, 30, 1, 3), asha(2, "min", 60, 27, 1, 3), asha(3, "max", 50, 100, 10, 4), asha(4, "max", 30, 20, 2, 2),
                 asha(5, "min", 40, 40, 1, 2.5), asha(9, "max", 40, 27, 1, 3, fails=0.1)],
        "median": [median(6, "max", 30, 20, 1, 3), median(7, "min", 40, 15, 4, 5), median(10, "max", 40, 20, 1, 3, fails=0.1)],
        "pbt": [pbt(8, count, fraction) for count in (1, 2, 3, 4, 5, 8, 13, 20) for fraction in (0.1, 0.25, 0.5)],
    }
    (pathlib.Path(folder) / "ray_tune.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
