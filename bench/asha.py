"""How soon ASHA has the best result of a grid: bench/asha.py BUILD_DIR [--orders 3] [--out FILE].

A grid of real trainings (a U-Net on drawn cells, over learning rate, weight decay and width) is trained to the end, one after another; then the
same grid with `scheduler: asha`, in other orders, as who comes first matters to it. A training is the same to the bit in both, so what counts is
when ASHA's study first has the grid's best value, against the time of the whole grid. Needs nothing but the program; run it on quiet cores.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time

from runs import ROOT, program

GRID = {
    "optimizer.lr": ["0.0001", "0.0005", "0.002", "0.008", "0.03", "0.1"],
    "optimizer.weight_decay": ["0", "0.01", "1"],
    "model.unet.bottleneck": ["8", "32"],
}


def overrides(options):
    return ["train.device=cpu", f"train.threads={options.threads}", "data.threads=1", f"data.synthetic.size={options.size}",
            f"data.train.count={options.images}", "data.val.count=32", f"train.duration={options.epochs}ep", "train.batch_size=8",
            "model.unet.channels=[8,16]", "schedule.warmup=5ba", "eval.every=1ep", "checkpoint.every=1ep", "run.pictures=0",
            "run.tensorboard=false"]


def study(options, folder, grid, scheduler):
    """The evaluations as (seconds since the start, trial, value), and the seconds in all."""
    command = [program(options.build), "tune", ROOT.parent / "configs/demo.yaml", *overrides(options), "--folder", folder, "--search", "grid",
               "--scheduler", scheduler, "--at-once", "1"]
    for key, values in grid.items():
        command += ["--vary", f"{key}={','.join(values)}"]
    begin = time.time()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, found = time.time() - begin, []
    for log in sorted(pathlib.Path(folder).glob("trials/*/log.jsonl")):
        for event in map(json.loads, log.read_text().splitlines()):
            if event["type"] == "eval":
                found.append((event["time"] - begin, log.parent.name, event["metrics"]["mean_iou"]))
    return sorted(found), seconds


def shuffled(grid, order):
    draw = random.Random(order)
    keys = draw.sample(list(grid), len(grid))
    return {key: draw.sample(grid[key], len(grid[key])) for key in keys}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder or bundle")
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=27)
    parser.add_argument("--images", type=int, default=128, help="training images")
    parser.add_argument("--size", type=int, default=96, help="side of an image")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rates", type=int, default=6, help="how many of the learning rates")
    parser.add_argument("--scheduler", default="{type: asha, grace: 1, reduction: 3}")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured")
    options = parser.parse_args()
    grid = {**GRID, "optimizer.lr": GRID["optimizer.lr"][-options.rates:]}
    with tempfile.TemporaryDirectory() as folder:
        found, whole = study(options, f"{folder}/grid", grid, "none")
        best = max(value for _, _, value in found)
        print(f"grid: {len({trial for _, trial, _ in found})} trainings of {options.epochs} epochs in {whole:.0f} s, best mean IoU {best:.4f}", flush=True)
        results = {"grid": {"seconds": whole, "best": best, "evaluations": found}, "asha": []}
        for order in range(options.orders):
            found, seconds = study(options, f"{folder}/asha-{order}", shuffled(grid, order), options.scheduler)
            reached = next((at for at, _, value in found if value >= best), None)
            own = max(value for _, _, value in found)
            results["asha"].append({"seconds": seconds, "best": own, "reached": reached, "evaluations": found})
            when = f"has it after {reached:.0f} s, {reached / whole:.2f} of the grid's time" if reached else f"never has it; its best is {own:.4f}"
            print(f"asha, order {order}: {when}; all in {seconds:.0f} s ({seconds / whole:.2f}), {len(found)} epochs", flush=True)
    if options.out:
        options.out.write_text(json.dumps(results) + "\n")


if __name__ == "__main__":
    main()
