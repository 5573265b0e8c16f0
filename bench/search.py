"""Our searchers beside Optuna's, on functions whose best value is known: bench/search.py BUILD_DIR [--out FILE].

Branin, Hartmann-6, a function of choices and conditions, a table of real trainings (bench/trainings.csv, which bench/record_trainings.py
made), and two objectives. Every searcher has the same number of trials, one after another, and 20 seeds; what counts is the regret,
how far the best trial is from the best value there is. Medians over the seeds with 95 % bootstrap intervals, and of the two TPEs also the
difference. Needs optuna and cmaes (scripts/interop-venv) and `search_driver` in BUILD_DIR/bin.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import subprocess

import optuna

ROOT = pathlib.Path(__file__).resolve().parent


def number(name, low, high, **more):
    return {"name": name, "kind": "float", "low": low, "high": high, "step": 0, "log": False, **more}


def integer(name, low, high, **more):
    return {"name": name, "kind": "integer", "low": low, "high": high, "step": 1, "log": False, **more}


def choice(name, values, **more):
    return {"name": name, "kind": "choice", "choices": [{"value": json.dumps(v), "overrides": [f"{name}={v}"]} for v in values], **more}


def when(parameter, *allowed):
    return {"parameter": parameter, "allowed": list(allowed)}


class Branin:
    name, trials, best = "Branin", 60, 0.39788735772973816
    space = [number("x", -5, 10), number("y", 0, 15)]

    def __call__(self, p):
        x, y = p["x"], p["y"]
        return (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


class Hartmann6:
    name, trials, best = "Hartmann-6", 120, -3.322368011415515
    space = [number(f"x{i}", 0, 1) for i in range(6)]
    ALPHA = [1.0, 1.2, 3.0, 3.2]
    A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    P = [[0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886], [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
         [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650], [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381]]

    def __call__(self, p):
        return -sum(alpha * math.exp(-sum(a[i] * (p[f"x{i}"] - c[i]) ** 2 for i in range(6))) for alpha, a, c in zip(self.ALPHA, self.A, self.P))


class Conditional:
    """Like a study of models and optimizers: each has settings of its own, and the best rate depends on both."""

    name, trials, best = "conditional", 100, 0.0
    space = [choice("model", ["a", "b", "c"]), choice("optimizer", ["sgd", "adamw"]), number("lr", 1e-5, 1, log=True),
             integer("a.depth", 1, 6, when=when("model", 0)), number("b.dropout", 0, 0.8, when=when("model", 1)),
             choice("b.bins", ["1", "2", "3", "6"], when=when("model", 1)), number("momentum", 0.5, 0.99, when=when("optimizer", 0)),
             number("weight_decay", 1e-6, 1, log=True, when=when("optimizer", 1))]

    def __call__(self, p):
        rate = math.log10(p["lr"])
        if p["model"] == 0:
            value = 0.10 + 0.03 * (p["a.depth"] - 4) ** 2
        elif p["model"] == 1:
            value = 0.5 * (p["b.dropout"] - 0.15) ** 2 + [0.2, 0.1, 0.0, 0.15][int(p["b.bins"])]
        else:
            value = 0.3
        if p["optimizer"] == 0:  # the more momentum, the smaller the rate
            return value + 0.05 + 0.15 * abs(rate + 1 - math.log10((1 - p["momentum"]) / 0.1)) ** 1.5
        return value + 0.15 * abs(rate + 3.3) ** 1.5 + 0.02 * (math.log10(p["weight_decay"]) + 2) ** 2


class Trainings:
    """1 - mean IoU of small trainings, at the points of their grid."""

    name, trials = "real trainings", 40

    def __init__(self):
        rows = list(csv.DictReader((ROOT / "trainings.csv").open()))
        self.values = {key: list(dict.fromkeys(row[key] for row in rows)) for key in rows[0] if key != "mean_iou"}
        self.space = [choice(key, values) if key == "loss" else integer(key, 0, len(values) - 1) for key, values in self.values.items()]
        self.table = {tuple(row[key] for key in self.values): 1 - float(row["mean_iou"]) for row in rows}
        self.best = min(value for value in self.table.values() if not math.isnan(value))

    def __call__(self, p):
        return self.table[tuple(values[int(p[key])] for key, values in self.values.items())]


class Front:
    """Two objectives: ZDT1 in six dimensions. The regret is the hypervolume that is missing."""

    name, trials, objectives, reference = "two objectives", 100, 2, (1.1, 6.0)
    best = -(6.0 - 1 / 3 + 0.1 * 6.0)
    space = [number(f"x{i}", 0, 1) for i in range(6)]

    def __call__(self, p):
        g = 1 + 9 * sum(p[f"x{i}"] for i in range(1, 6)) / 5
        return (p["x0"], g * (1 - math.sqrt(p["x0"] / g)))


class Driver:
    """One of our searchers, in a process of its own."""

    def __init__(self, build, **what):
        self.process = subprocess.Popen([pathlib.Path(build) / "bin/search_driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.say(**what)

    def say(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def ask(self, number):
        self.say(ask=number)
        return json.loads(self.process.stdout.readline())

    def processor_s(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def tell(self, number, parameters, values):
        failed = any(math.isnan(value) for value in values)
        self.say(tell=number, state="failed" if failed else "complete", parameters=parameters, values=[] if failed else values)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def ours(search):
    def run(function, seed, trials, build):
        driver = Driver(build, space=function.space, search=search, directions=["minimize"] * objectives(function), seed=seed)
        values = []
        for i in range(trials):
            parameters = driver.ask(i)
            values.append(function(parameters))
            driver.tell(i, parameters, as_list(values[-1]))
        driver.close()
        return values

    return run


def cost(search, function, objectives, told, build):
    """Milliseconds of a suggestion after so many trials at random points: processor time, so that other work beside does not count."""
    draw = random.Random(1)
    driver = Driver(build, space=function.space, search=search, directions=["minimize"] * objectives, seed=1)
    points = Driver(build, space=function.space, search="random", directions=["minimize"], seed=2)

    def tell(number, point):
        driver.tell(number, point, [function(point), *[draw.uniform(0, 1) for _ in range(objectives - 1)]])

    for i in range(told):
        tell(i, points.ask(i))
    tell(told, driver.ask(told))  # whatever is made once
    asked, begin = 200, driver.processor_s()
    for i in range(told + 1, told + 1 + asked):
        tell(i, driver.ask(i))
    driver.ask(0)  # all of them have arrived
    seconds = driver.processor_s() - begin
    driver.close()
    points.close()
    return 1000 * seconds / asked


def print_costs(build):
    print("| searcher | space | objectives | trials told of | ms a suggestion |\n|---|---|---|---|---|")
    for search, function, objectives in (("tpe", Hartmann6(), 1), ("tpe", Conditional(), 1), ("tpe", Hartmann6(), 2), ("cma", Hartmann6(), 1)):
        for told in (100, 1000, 10000):
            print(f"| {search} | {function.name} | {objectives} | {told} | {cost(search, function, objectives, told, build):.2f} |", flush=True)


def objectives(function):
    return getattr(function, "objectives", 1)


def as_list(value):
    return list(value) if isinstance(value, tuple) else [value]


def suggested(trial, space):
    point = {}
    for p in space:
        if "when" in p and point.get(p["when"]["parameter"]) not in p["when"]["allowed"]:
            continue
        if p["kind"] == "choice":
            point[p["name"]] = trial.suggest_categorical(p["name"], list(range(len(p["choices"]))))
        elif p["kind"] == "integer":
            point[p["name"]] = trial.suggest_int(p["name"], p["low"], p["high"])
        else:
            point[p["name"]] = trial.suggest_float(p["name"], p["low"], p["high"], log=p["log"])
    return point


def theirs(make_sampler):
    def run(function, seed, trials, _):
        study = optuna.create_study(sampler=make_sampler(seed), directions=["minimize"] * objectives(function))
        values = []
        for _ in range(trials):
            trial = study.ask()
            values.append(function(suggested(trial, function.space)))
            if any(math.isnan(value) for value in as_list(values[-1])):
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, values[-1])
        return values

    return run


SEARCHERS = {
    "tpe": ours("tpe"),
    "cma": ours("cma"),
    "sobol": ours("sobol"),
    "random": ours("random"),
    "Optuna TPE": theirs(lambda seed: optuna.samplers.TPESampler(seed=seed)),
    "Optuna TPE, group": theirs(lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)),
    "Optuna CMA-ES": theirs(lambda seed: optuna.samplers.CmaEsSampler(seed=seed)),
}


def fits(searcher, function):
    continuous = objectives(function) == 1 and all(p["kind"] != "choice" and "when" not in p for p in function.space)
    return ("cma" not in searcher.lower() or continuous) and ("group" not in searcher or any("when" in p for p in function.space))


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def interval(statistic, *samples, draws=4000):
    """Where the statistic lies in 95 % of samples drawn again from the samples."""
    draw = random.Random(0)
    found = sorted(statistic(*[draw.choices(sample, k=len(sample)) for sample in samples]) for _ in range(draws))
    return found[int(0.025 * draws)], found[int(0.975 * draws) - 1]


def hypervolume(points, reference):
    volume, above = 0, reference[1]
    for x, y in sorted(points):
        if x < reference[0] and y < above:
            volume += (reference[0] - x) * (above - y)
            above = y
    return volume


def regret(values, function, trials):
    if objectives(function) > 1:
        return -hypervolume(values[:trials], function.reference) - function.best
    return min(value for value in [*values[:trials], math.inf] if not math.isnan(value)) - function.best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder with bin/search_driver")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--functions", nargs="+")
    parser.add_argument("--searchers", nargs="+", default=list(SEARCHERS), help=f"of {', '.join(SEARCHERS)}, or the `search:` of a study's file")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for every trial's value")
    parser.add_argument("--cost", action="store_true", help="measure what a suggestion costs after many trials instead")
    options = parser.parse_args()
    if options.cost:
        return print_costs(options.build)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    everything = {}
    print("| function | trials | searcher | median regret | 95 % interval |\n|---|---|---|---|---|")
    for function in (Branin(), Hartmann6(), Conditional(), Trainings(), Front()):
        if options.functions and function.name not in options.functions:
            continue
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        values = {}
        for name in options.searchers:
            if fits(name, function):
                values[name] = [SEARCHERS.get(name, ours(name))(function, seed, function.trials, options.build) for seed in seeds]
        everything[function.name] = values
        for trials in (function.trials // 2, function.trials):
            regrets = {name: [regret(run, function, trials) for run in runs] for name, runs in values.items()}
            for name, found in regrets.items():
                low, high = interval(median, found)
                print(f"| {function.name} | {trials} | {name} | {median(found):.4g} | {low:.4g} .. {high:.4g} |", flush=True)
            peers = [name for name in regrets if name.startswith("Optuna TPE")]
            for peer in peers if "tpe" in regrets else []:
                def difference(a, b):
                    return median(a) - median(b)
                low, high = interval(difference, regrets["tpe"], regrets[peer])
                print(f"| {function.name} | {trials} | tpe less {peer} | {difference(regrets['tpe'], regrets[peer]):.4g} | {low:.4g} .. {high:.4g} |", flush=True)
    if options.out:
        options.out.write_text(json.dumps(everything) + "\n")


if __name__ == "__main__":
    main()
