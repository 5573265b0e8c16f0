"""How soon ASHA has the best result of a grid: bench/asha.py BUILD_DIR [--orders 3] [--replays 1000] [--out FILE].

A grid of real trainings (a U-Net over learning rate, weight decay and width, on drawn cells or --data) is trained to the end, one after
another; then the same grid with `scheduler: asha`, in other orders, as who comes first matters to it. A training is the same to the bit in
both, so what counts is when ASHA's study first has the grid's best value, against the time of the whole grid. As the best of a grid is also
the luckiest, the grid's best point is trained with other seeds too, and a value is as good where it lies within their standard deviation.
Run it on quiet cores; `epochs` do not depend on the machine.

The recorded curves are then played to the scheduler in many orders (`cmake --build BUILD_DIR --target schedule_replay`).
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

from runs import ROOT, program

GRID = {
    "optimizer.lr": ["0.0001", "0.0005", "0.002", "0.008", "0.03", "0.1"],
    "optimizer.weight_decay": ["0", "0.01", "1"],
    "model.unet.bottleneck": ["8", "32"],
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder or bundle")
    parser.add_argument("--orders", type=int, default=3, help="studies with ASHA")
    parser.add_argument("--replays", type=int, default=1000, help="orders in which the recorded curves are played; 0: none")
    parser.add_argument("--seeds", type=int, default=4, help="other seeds of the grid's best point")
    parser.add_argument("--epochs", type=int, default=27)
    parser.add_argument("--images", type=int, default=128, help="training images, where they are drawn")
    parser.add_argument("--size", type=int, default=96, help="side of an image or a crop")
    parser.add_argument("--data", type=pathlib.Path, help="a folder of grey or colour images with two classes, as dsb2018_nuclei")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rates", type=int, default=6, help="how many of the learning rates")
    parser.add_argument("--scheduler", default="{type: asha, grace: 1, reduction: 3, rule: promote}")
    parser.add_argument("--reuse", default="true", choices=["true", "false"], help="processes that train one trial after another")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured")
    return parser.parse_args()


def overrides(options):
    words = ["train.device=cpu", f"train.threads={options.threads}", "data.threads=1", f"train.duration={options.epochs}ep", "train.batch_size=8",
             "model.unet.channels=[8,16]", "schedule.warmup=5ba", "eval.every=1ep", "checkpoint.every=1ep", "checkpoint.keep_last=1", "run.pictures=0",
             "run.tensorboard=false"]
    if options.data is None:
        return [*words, f"data.synthetic.size={options.size}", f"data.train.count={options.images}", "data.val.count=32"]
    return [*words, "data.type=pairs", f"data.path={options.data.resolve()}", "data.channels=3", "data.train.transforms=[{random_crop: {size: "
            f"{options.size}}}}}, flip, photometric]", "data.val.transforms=[{center_crop: {size: " f"{options.size}}}}}]"]


def study(options, folder, grid, scheduler):
    """The evaluations as (seconds since the start, trial, value), in the order of time; the seconds in all, and how many jobs there were."""
    command = [program(options.build), "tune", ROOT.parent / "configs/demo.yaml", *overrides(options), "--folder", folder, "--search", "grid",
               "--scheduler", scheduler, "--at-once", "1", "--set", f"executor={{type: local, reuse: {options.reuse}}}"]
    for key, values in grid.items():
        command += ["--vary", f"{key}={','.join(values)}"]
    begin = time.time()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, found = time.time() - begin, []
    for log in sorted(pathlib.Path(folder).glob("trials/*/log.jsonl")):
        for event in map(json.loads, log.read_text().splitlines()):
            if event["type"] == "eval":
                found.append((event["time"] - begin, int(log.parent.name), event["metrics"]["mean_iou"]))
    return sorted(found), seconds, len(list(pathlib.Path(folder).glob("jobs/*")))


def curves_of(found):
    """The values of each training by its number; one that diverged at once has none."""
    curves = {}
    for _, trial, value in found:
        curves.setdefault(trial, []).append(value)
    return curves


def shuffled(grid, order):
    draw = random.Random(order)
    keys = draw.sample(list(grid), len(grid))
    return {key: draw.sample(grid[key], len(grid[key])) for key in keys}


def spread(options, folder, point):
    """The standard deviation of the best value over seeds of one point of the grid."""
    found, _, _ = study(options, folder, {"train.seed": [str(101 + seed) for seed in range(options.seeds)], **{key: [value] for key, value in point.items()}}, "none")
    return statistics.stdev(max(curve) for curve in curves_of(found).values())


def point_of(grid, number):
    point = {}
    for key in reversed(list(grid)):
        number, place = divmod(number, len(grid[key]))
        point[key] = grid[key][place]
    return point


def first(found, goal):
    """When a value was as good, as (seconds, epochs)."""
    return next(((at, place + 1) for place, (at, _, value) in enumerate(found) if value >= goal), None)


def replay(options, curves, goal):
    draw = random.Random(0)
    orders = [draw.sample(range(len(curves)), len(curves)) for _ in range(options.replays)]
    request = json.dumps({"scheduler": options.scheduler, "values": curves, "orders": orders, "goal": goal})
    driver = pathlib.Path(options.build) / "bench/schedule_replay"
    done = subprocess.run([driver], input=request + "\n", check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def say_replays(name, rows, whole):
    reached = sorted(row["reached"] / whole for row in rows if row["reached"] is not None)
    text = f"replayed, {name}: reached in {len(reached) / len(rows):.0%} of {len(rows)} orders"
    if reached:
        text += f", after {statistics.median(reached):.2f} of the grid's epochs (median; 9 of 10 within {reached[int(0.9 * (len(reached) - 1))]:.2f})"
    print(f"{text}; {statistics.median(row['epochs'] / whole for row in rows):.2f} in all, {statistics.median(row['starts'] for row in rows):.0f} starts", flush=True)


def main():
    options = parse()
    grid = {**GRID, "optimizer.lr": GRID["optimizer.lr"][-options.rates:]}
    with tempfile.TemporaryDirectory() as folder:
        found, whole, _ = study(options, f"{folder}/grid", grid, "none")
        curves = curves_of(found)
        best = max(value for _, _, value in found)
        winner = max(curves, key=lambda number: max(curves[number]))
        deviation = spread(options, f"{folder}/seeds", point_of(grid, winner)) if options.seeds > 1 else 0
        print(f"grid: {len(curves)} trainings of {options.epochs} epochs in {whole:.0f} s ({whole / len(curves):.1f} s each), best mean IoU {best:.4f} "
              f"of {point_of(grid, winner)}, standard deviation over {options.seeds} seeds {deviation:.4f}", flush=True)
        results = {"options": {key: str(value) for key, value in vars(options).items()}, "deviation": deviation,
                   "grid": {"seconds": whole, "best": best, "winner": point_of(grid, winner), "evaluations": found}, "asha": []}
        goals = {"the grid's best": best, "as good": best - deviation}
        for order in range(options.orders):
            seen, seconds, jobs = study(options, f"{folder}/asha-{order}", shuffled(grid, order), options.scheduler)
            own = max(value for _, _, value in seen)
            when = []
            for name, goal in goals.items():
                reached = first(seen, goal)
                when.append(f"{name} after {reached[0] / whole:.2f} of the grid's time and {reached[1] / len(found):.2f} of its epochs" if reached else f"never {name}")
            results["asha"].append({"seconds": seconds, "best": own, "jobs": jobs, "reached": {name: first(seen, goal) for name, goal in goals.items()},
                                    "evaluations": seen})
            print(f"asha, order {order}: best {own:.4f}; {'; '.join(when)}; all in {seconds / whole:.2f} of the time, {len(seen) / len(found):.2f} of the "
                  f"epochs, {jobs} jobs", flush=True)
    if options.out:
        options.out.write_text(json.dumps(results) + "\n")
    if options.replays > 0:
        for name, goal in goals.items():
            say_replays(name, replay(options, list(curves.values()), goal), len(found))


if __name__ == "__main__":
    main()
