"""How soon ASHA has the best result of a grid: bench/asha.py BUILD_DIR [--orders 3] [--replays 1000] [--out FILE].

A grid of real trainings (a U-Net over learning rate, weight decay and width, on drawn cells or --data) is trained to the end, one after
another; then the same grid with `scheduler: asha`, in other orders, as who comes first matters to it. A training is the same to the bit in
both, so what counts is when ASHA's study first has the grid's best value, against the whole grid: in time, for which the machine must be quiet; in
epochs, which no other work disturbs; and in CPU seconds of all processes, of the studies as a whole. As the best of a grid is also
the luckiest, the grid's best point is trained with other seeds too, and a value is "as good" where it lies within their standard deviation (sd).

The recorded curves are then played to several schedulers in many orders (`cmake --build BUILD_DIR --target schedule_replay`); --recorded does
only that, with the file of an earlier --out.
"""
import argparse
import ctypes
import dataclasses
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile
import time

from runs import ROOT, program

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
GRID = {
    "optimizer.lr": ["0.0001", "0.0005", "0.002", "0.008", "0.03", "0.1"],
    "optimizer.weight_decay": ["0", "0.01", "1"],
    "model.unet.bottleneck": ["8", "32"],
}


REPLAYED = ["{type: asha, grace: 1, reduction: 3, rule: promote}", "{type: asha, grace: 3, reduction: 3, rule: promote}",
            "{type: asha, grace: 1, reduction: 3, rule: stop}", "{type: asha, grace: 3, reduction: 3, rule: stop}", "{type: hyperband, grace: 1}"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder or bundle")
    parser.add_argument("--orders", type=int, default=3, help="studies with ASHA")
    parser.add_argument("--replays", type=int, default=1000, help="orders in which the recorded curves are played; 0: none")
    parser.add_argument("--seeds", type=int, default=4, help="other seeds of the grid's best point")
    parser.add_argument("--epochs", type=int, default=27)
    parser.add_argument("--images", type=int, default=128, help="training images, where they are drawn")
    parser.add_argument("--size", type=int, default=96, help="side of an image or a crop")
    parser.add_argument("--data", type=pathlib.Path, help="folder of dsb2018_nuclei, instead of drawn cells")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rates", type=int, default=6, help="how many of the learning rates")
    parser.add_argument("--scheduler", default="{type: asha, grace: 1, reduction: 3, rule: promote}")
    parser.add_argument("--reuse", default="true", choices=["true", "false"], help="processes that train one trial after another")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="other settings of the trainings")
    parser.add_argument("--recorded", type=pathlib.Path, help="trains nothing: a file of an earlier --out")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured")
    return parser.parse_args()


def overrides(options):
    words = ["train.device=cpu", f"train.threads={options.threads}", "data.threads=1", f"train.duration={options.epochs}ep", "train.batch_size=8",
             "model.unet.channels=[8,16]", "schedule.warmup=5ba", "eval.every=1ep", "checkpoint.every=1ep", "checkpoint.keep_last=1", "run.pictures=0",
             "run.tensorboard=false", *options.set]
    if options.data is None:
        return [*words, f"data.synthetic.size={options.size}", f"data.train.count={options.images}", "data.val.count=32"]
    return [*words, "data.type=pairs", f"data.path={options.data.resolve()}", "data.classes=[background,nucleus]", "data.labels.binary=true",
            "data.channels=3", "data.train.images=images/training", "data.train.masks=annotations/training", "data.val.images=images/validation",
            "data.val.masks=annotations/validation", f"data.train.transforms=[{{random_crop: {{size: {options.size}}}}}, flip, photometric]"]


def run_counted(command):
    """Seconds, and CPU seconds of the command and everything it started, which may outlive it."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.time() - begin
    try:
        while True:
            os.wait()
    except ChildProcessError:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@dataclasses.dataclass
class Study:
    """Evaluations as (unix time, trial, value), in the order of time."""
    evaluations: list
    begin: float
    seconds: float
    cpu: float
    jobs: int

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


def study(options, folder, grid, scheduler):
    command = [program(options.build), "tune", ROOT.parent / "configs/demo.yaml", *overrides(options), "--folder", folder, "--search", "grid",
               "--scheduler", scheduler, "--at-once", "1", "--set", f"executor={{type: local, reuse: {options.reuse}}}"]
    for key, values in grid.items():
        command += ["--vary", f"{key}={','.join(values)}"]
    begin = time.time()
    seconds, cpu = run_counted(command)
    found = []
    for log in sorted(pathlib.Path(folder).glob("trials/*/log.jsonl")):
        for event in map(json.loads, log.read_text().splitlines()):
            if event["type"] == "eval":
                found.append((event["time"], int(log.parent.name), event["metrics"]["mean_iou"]))
    return Study(sorted(found), begin, seconds, cpu, len(list(pathlib.Path(folder).glob("jobs/*"))))


def shuffled(grid, order):
    draw = random.Random(order)
    keys = draw.sample(list(grid), len(grid))
    return {key: draw.sample(grid[key], len(grid[key])) for key in keys}


def spread(options, folder, point):
    """The standard deviation of the best value over seeds of one point of the grid."""
    seeds = {"train.seed": [str(101 + seed) for seed in range(options.seeds)]}
    found = study(options, folder, {**seeds, **{key: [value] for key, value in point.items()}}, "none")
    return statistics.stdev(max(curve) for curve in found.curves().values())


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
    evaluations, best, deviation = recorded["grid"]["evaluations"], recorded["best"], recorded["deviation"]
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


def say(name, one, whole, goals):
    texts = []
    for goal, value in goals.items():
        reached = one.reached(value)
        texts.append(f"never {goal}" if reached is None else f"{goal} after {reached[0] / whole.seconds:.2f} of the grid's time and "
                     f"{reached[1] / len(whole.evaluations):.2f} of its epochs")
    print(f"{name}: best {one.best():.4f}; {'; '.join(texts)}; all in {one.seconds / whole.seconds:.2f} of the time, {one.cpu / whole.cpu:.2f} of the CPU time, "
          f"{len(one.evaluations) / len(whole.evaluations):.2f} of the epochs, {one.jobs} jobs", flush=True)


def main():
    options = parse()
    if options.recorded:
        return say_replays(options, json.loads(options.recorded.read_text()))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # trials outlive their controller; their CPU time counts
    grid = {**GRID, "optimizer.lr": GRID["optimizer.lr"][-options.rates:]}
    results = {"options": {key: str(value) for key, value in vars(options).items()}, "asha": []}
    with tempfile.TemporaryDirectory() as folder:
        whole = study(options, f"{folder}/grid", grid, "none")
        curves = whole.curves()
        winner = point_of(grid, max(curves, key=lambda number: max(curves[number])))
        print(f"grid: {len(curves)} trainings of {options.epochs} epochs in {whole.seconds:.0f} s, {whole.cpu / len(curves):.1f} CPU s each, best mean IoU "
              f"{whole.best():.4f} of {winner}", flush=True)
        deviation = spread(options, f"{folder}/seeds", winner)
        goals = {"the grid's best": whole.best(), "as good": whole.best() - deviation}
        print(f"standard deviation over {options.seeds} other seeds: {deviation:.5f}", flush=True)
        for order in range(options.orders):
            one = study(options, f"{folder}/asha-{order}", shuffled(grid, order), options.scheduler)
            results["asha"].append(dataclasses.asdict(one))
            say(f"asha, order {order}", one, whole, goals)
    results |= {"grid": dataclasses.asdict(whole), "winner": winner, "best": whole.best(), "deviation": deviation}
    if options.out:
        options.out.write_text(json.dumps(results) + "\n")
    if options.replays > 0:
        say_replays(options, results)


if __name__ == "__main__":
    main()
