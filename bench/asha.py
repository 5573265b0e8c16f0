"""How soon ASHA has the best result of a grid: bench/asha.py BUILD_DIR [--data FOLDER] [--orders 3] [--replays 1000] [--out FILE].

A grid of real trainings (a U-Net over learning rate, weight decay and width) is trained to the end, then the same grid with `scheduler: asha`,
in other orders, as who comes first matters to it. A training is the same to the bit in both (on a GPU by train.deterministic), so what counts is
when ASHA's study first has the grid's best value, against the whole grid: in time, for which the machine must be quiet; in epochs, which no
other work disturbs; and in CPU seconds of all processes, of the studies as a whole. As the best of a grid is also the luckiest, the
grid's best point is trained with other seeds too, and a value is "as good" where it lies within their standard deviation (sd).

On drawn cells the best points lie within 0.0002 of one another, and which is the best is chance. --data dsb2018_nuclei trains on photographs and
looks for mean boundary IoU, which tells points apart; --device cuda leaves the number of trials at once to `tessera tune`. With --limit
what would take longer is left out, and said.

The recorded curves are then played to several schedulers in many orders (`cmake --build BUILD_DIR --target schedule_replay`); --recorded does
only that, with the file of an earlier --out.
"""
import argparse
import ctypes
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import resource
import statistics
import subprocess
import tempfile
import time

from runs import ROOT, program

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
DRAWN_GRID = {
    "optimizer.lr": ["0.0001", "0.0005", "0.002", "0.008", "0.03", "0.1"],
    "optimizer.weight_decay": ["0", "0.01", "1"],
    "model.unet.bottleneck": ["8", "32"],
}
REAL_GRID = {
    "optimizer.lr": ["0.0001", "0.0006", "0.003", "0.015", "0.08"],
    "optimizer.weight_decay": ["0.01", "3"],
    "model.unet.channels": ["[4,8,16]", "[8,16,32]", "[32,64,128]"],
}

REPLAYED = ["{type: asha, grace: 1, reduction: 3, rule: promote}", "{type: asha, grace: 3, reduction: 3, rule: promote}",
            "{type: asha, grace: 1, reduction: 3, rule: stop}", "{type: asha, grace: 3, reduction: 3, rule: stop}", "{type: hyperband, grace: 1}"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder or bundle")
    parser.add_argument("--orders", type=int, default=3, help="studies with ASHA")
    parser.add_argument("--replays", type=int, default=1000, help="orders in which the recorded curves are played; 0: none")
    parser.add_argument("--seeds", type=int, default=4, help="other seeds of the grid's best point; fewer than 2: none")
    parser.add_argument("--epochs", type=int, default=27)
    parser.add_argument("--images", type=int, default=128, help="training images, an epoch; 0: all that --data has")
    parser.add_argument("--measured", type=int, help="validation images; default: 32 drawn ones, all of --data")
    parser.add_argument("--size", type=int, default=96, help="side of an image or a crop")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--data", type=pathlib.Path, help="folder of dsb2018_nuclei, instead of drawn cells")
    parser.add_argument("--metric", help="what is looked for; default: mean_iou of drawn cells, mean_boundary_iou of --data")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--at-once", type=int, help="trials at the same time; default: 1 on a CPU, what `tessera tune` finds room for on a GPU")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rates", type=int, default=6, help="how many of the learning rates")
    parser.add_argument("--vary", nargs="*", default=[], metavar="KEY=VALUES", help="another grid than the built-in one")
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS", help="no study is begun that would end later")
    parser.add_argument("--scheduler", default="{type: asha, grace: 1, reduction: 3, rule: promote}")
    parser.add_argument("--reuse", default="true", choices=["true", "false"], help="processes that train one trial after another")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="other settings of the trainings")
    parser.add_argument("--recorded", type=pathlib.Path, help="trains nothing: a file of an earlier --out")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured, written anew after each study")
    options = parser.parse_args()
    options.metric = options.metric or ("mean_iou" if options.data is None else "mean_boundary_iou")
    return options


def grid_of(options):
    if options.vary:
        # Commas between brackets belong to one value.
        return {key: re.findall(r"(?:\[[^\]]*\]|[^,\[])+", values) for key, values in (word.split("=", 1) for word in options.vary)}
    grid = DRAWN_GRID if options.data is None else REAL_GRID
    return {**grid, "optimizer.lr": grid["optimizer.lr"][-options.rates:]}


def overrides(options):
    words = [f"train.device={options.device}", f"train.duration={options.epochs}ep", f"train.batch_size={options.batch}", "schedule.warmup=5ba",
             "eval.every=1ep", "checkpoint.every=1dur", "checkpoint.keep_best=false", "checkpoint.keep_last=1", "run.pictures=0", "run.tensorboard=false",
             f"data.train.count={options.images}"]
    words += ["train.deterministic=true"] if options.device == "cuda" else [f"train.threads={options.threads}", "data.threads=1"]
    words += ["eval.metrics=[boundary]"] if "boundary" in options.metric else []
    if options.data is None:
        return [*words, "model.unet.channels=[8,16]", f"data.synthetic.size={options.size}", f"data.val.count={options.measured or 32}", *options.set]
    # Images have ten sizes; cut to one they go through the network in whole batches.
    cut = f"{{resize: {{mode: crop_or_pad, size: {2 * options.size}}}}}"
    return [*words, "data.type=pairs", f"data.path={options.data.resolve()}", "data.classes=[background,nucleus]", "data.labels.binary=true",
            "data.channels=3", "data.train.images=images/training", "data.train.masks=annotations/training", "data.val.images=images/validation",
            "data.val.masks=annotations/validation", f"data.val.count={options.measured or 0}", f"data.val.transforms=[{cut}]", "eval.at=processed",
            f"data.train.transforms=[{cut}, {{random_crop: {{size: {options.size}}}}}, flip, photometric]", "model.unet.bottleneck=64", *options.set]


def run_counted(command, log):
    """Seconds, and CPU seconds of the command and everything it started, which may outlive it."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    with log.open("w") as said:
        code = subprocess.run([str(part) for part in command], stdout=said, stderr=subprocess.STDOUT).returncode
    if code != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {code}:\n{log.read_text()[-4000:]}")
    seconds = time.time() - begin
    try:
        while True:
            os.wait()
    except ChildProcessError:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@dataclasses.dataclass
class Study:
    """Evaluations as (unix time, trial, value), in the order of time; sessions of trainings as (begin, end)."""
    evaluations: list
    begin: float
    seconds: float
    cpu: float
    jobs: int
    sessions: list = dataclasses.field(default_factory=list)
    memory_mb: float = 0
    failed: int = 0

    def at_once(self):
        """Most trainings at the same time, and their mean number."""
        marks = sorted([(begin, 1) for begin, _ in self.sessions] + [(end, -1) for _, end in self.sessions])
        most = max(itertools.accumulate(step for _, step in marks), default=0)
        return most, sum(end - begin for begin, end in self.sessions) / self.seconds

    def curves(self):
        """The values of each training by its number; one that diverged at once has none."""
        found = {}
        for _, trial, value in self.evaluations:
            found.setdefault(trial, []).append(value)
        return found

    def best(self):
        return max(value for _, _, value in self.evaluations)

    def reached(self, goal):
        """When a value was as good, as (seconds, epochs); nothing where none was."""
        return next(((at - self.begin, place + 1) for place, (at, _, value) in enumerate(self.evaluations) if value >= goal), None)


def read_log(log, metric):
    """Evaluations and sessions of one run, the most memory it had, and whether it failed."""
    evaluations, sessions, memory, begun, status = [], [], 0, None, ""
    for event in map(json.loads, log.read_text().splitlines()):
        if event["type"] in ("start", "resume"):
            begun = event["time"]
        elif event["type"] == "eval":
            evaluations.append((event["time"], int(log.parent.name), event["metrics"][metric] or 0))
        elif event["type"] == "train":
            memory = max(memory, event["memory_mb"])
        elif event["type"] == "end":
            sessions.append((begun, event["time"]))
            status = event["status"]
    return evaluations, sessions, memory, status not in ("done", "paused")


def study(options, folder, grid, scheduler):
    folder = pathlib.Path(folder)
    at_once = options.at_once or (1 if options.device == "cpu" else 0)
    command = [program(options.build), "tune", ROOT.parent / "configs/demo.yaml", *overrides(options), "--folder", folder, "--search", "grid",
               "--scheduler", scheduler, "--objective", options.metric, *(["--at-once", str(at_once)] if at_once > 0 else []),
               "--set", f"executor={{type: local, reuse: {options.reuse}}}"]
    for key, values in grid.items():
        command += ["--vary", f"{key}={','.join(values)}"]
    begin = time.time()
    seconds, cpu = run_counted(command, folder.with_suffix(".log"))
    logs = [read_log(log, options.metric) for log in sorted(folder.glob("trials/*/log.jsonl"))]
    return Study(evaluations=sorted(evaluation for log in logs for evaluation in log[0]), begin=begin, seconds=seconds, cpu=cpu,
                 jobs=len(list(folder.glob("jobs/*"))), sessions=sorted(session for log in logs for session in log[1]),
                 memory_mb=max(log[2] for log in logs), failed=sum(log[3] for log in logs))


def shuffled(grid, order):
    draw = random.Random(order)
    keys = draw.sample(list(grid), len(grid))
    return {key: draw.sample(grid[key], len(grid[key])) for key in keys}


def spread(options, folder, point):
    """One point of the grid with other seeds."""
    seeds = {"train.seed": [str(101 + seed) for seed in range(options.seeds)]}
    return study(options, folder, {**seeds, **{key: [value] for key, value in point.items()}}, "none")


def point_of(grid, number):
    point = {}
    for key in reversed(list(grid)):
        number, place = divmod(number, len(grid[key]))
        point[key] = grid[key][place]
    return point


def replay(options, scheduler, curves, goal):
    draw = random.Random(0)
    orders = [draw.sample(range(len(curves)), len(curves)) for _ in range(options.replays)]
    request = json.dumps({"scheduler": scheduler, "values": curves, "orders": orders, "goal": goal})
    done = subprocess.run([pathlib.Path(options.build) / "bin/schedule_replay"], input=request + "\n", check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def say_replays(options, recorded):
    """In how many orders a goal is reached within a third of the grid's epochs, and after how many in the median order that reaches it."""
    evaluations, best, deviation = recorded["grid"]["evaluations"], recorded["best"], recorded.get("deviation", 0)
    curves = list(Study(evaluations, 0, 0, 0, 0).curves().values())
    for scheduler in REPLAYED:
        texts = []
        for name, goal in (("the best", best), ("1 sd", best - deviation), ("2 sd", best - 2 * deviation)):
            rows = replay(options, scheduler, curves, goal)
            reached = [row["reached"] / len(evaluations) for row in rows if row["reached"] is not None]
            share = sum(epochs <= 1 / 3 for epochs in reached) / len(rows)
            texts.append(f"{name} {share:.1%}" + (f" (after {statistics.median(reached):.2f})" if reached else ""))
        print(f"replayed {scheduler}: {', '.join(texts)}; {statistics.median(row['epochs'] for row in rows) / len(evaluations):.2f} of the epochs and "
              f"{statistics.median(row['starts'] for row in rows):.0f} starts in all", flush=True)


def same_bits(one, own_grid, whole, grid):
    """How many evaluations of a study have the bits of the grid's training of the same point and epoch, and of how many."""
    curves = {tuple(sorted(point_of(grid, number).items())): curve for number, curve in whole.curves().items()}
    pairs = [pair for number, curve in one.curves().items() for pair in zip(curve, curves[tuple(sorted(point_of(own_grid, number).items()))])]
    return sum(ours == theirs for ours, theirs in pairs), len(pairs)


def say(name, one, whole, goals, same):
    texts = []
    for goal, value in goals.items():
        reached = one.reached(value)
        texts.append(f"never {goal}" if reached is None else f"{goal} after {reached[0]:.1f} s, {reached[0] / whole.seconds:.2f} of the grid's time, and "
                     f"{reached[1] / len(whole.evaluations):.2f} of its epochs")
    most, mean = one.at_once()
    print(f"{name}: best {one.best():.4f}; {'; '.join(texts)}; all in {one.seconds / whole.seconds:.2f} of the time, {one.cpu / whole.cpu:.2f} of the CPU time, "
          f"{len(one.evaluations) / len(whole.evaluations):.2f} of the epochs, {one.jobs} jobs, at most {most} at once, {mean:.1f} in the mean; {same[0]} of {same[1]} evaluations have the grid's bits", flush=True)


def say_grid(options, whole, winner, deviation):
    best = sorted((max(curve) for curve in whole.curves().values()), reverse=True)
    text = f"the best {options.metric}s of points: {' '.join(f'{value:.4f}' for value in best[:6])}, median {statistics.median(best):.4f}, worst {best[-1]:.4f}"
    if deviation > 0:
        near = [sum(value >= best[0] - times * deviation for value in best) for times in (1, 2)]
        text += (f"; standard deviation of the best point over {options.seeds} other seeds {deviation:.5f}; within 1 sd of the best: {near[0]}, "
                 f"within 2: {near[1]}")
    print(text, flush=True)


class Results:
    """Everything measured so far, in --out."""

    def __init__(self, options):
        self.options, self.begin = options, time.time()
        self.found = {"options": {key: str(value) for key, value in vars(options).items() if key not in ("build", "data", "out", "recorded")}, "asha": []}

    def write(self, **found):
        self.found |= found
        if self.options.out:
            self.options.out.write_text(json.dumps(self.found) + "\n")

    def has_time(self, what, seconds):
        left = self.options.limit - (time.time() - self.begin)
        if seconds > left:
            print(f"{what}: left out, {left:.0f} s are left and it may take {seconds:.0f}", flush=True)
        return seconds <= left


def main():
    options = parse()
    if options.recorded:
        return say_replays(options, json.loads(options.recorded.read_text()))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # trials outlive their controller; their CPU time counts
    grid, results = grid_of(options), Results(options)
    with tempfile.TemporaryDirectory() as folder:
        whole = study(options, f"{folder}/grid", grid, "none")
        curves = whole.curves()
        winner = point_of(grid, max(curves, key=lambda number: max(curves[number])))
        most, mean = whole.at_once()
        print(f"grid: {len(curves)} trainings of {options.epochs} epochs in {whole.seconds:.0f} s, {whole.cpu / len(curves):.1f} CPU s each, at most {most} at once, "
              f"{mean:.1f} in the mean, {whole.memory_mb:.0f} MB at most, {whole.failed} failed; best {options.metric} {whole.best():.4f} of {winner}", flush=True)
        results.write(grid=dataclasses.asdict(whole), winner=winner, best=whole.best())
        deviation = 0
        if options.seeds > 1 and results.has_time("other seeds", options.seeds * mean / len(curves) * whole.seconds):
            others = spread(options, f"{folder}/seeds", winner)
            deviation = statistics.stdev(max(curve) for curve in others.curves().values())
            results.write(seeds=dataclasses.asdict(others), deviation=deviation)
        say_grid(options, whole, winner, deviation)
        goals = {"the grid's best": whole.best()} | ({"as good": whole.best() - deviation} if deviation > 0 else {})
        longest = whole.seconds / 2
        for order in range(options.orders):
            if not results.has_time(f"asha, order {order}", longest):
                break
            own_grid = shuffled(grid, order)
            one = study(options, f"{folder}/asha-{order}", own_grid, options.scheduler)
            longest = max(one.seconds, longest if order > 0 else 0)
            results.write(asha=[*results.found["asha"], dataclasses.asdict(one)])
            say(f"asha, order {order}", one, whole, goals, same_bits(one, own_grid, whole, grid))
    if options.replays > 0:
        say_replays(options, results.found)


if __name__ == "__main__":
    main()
