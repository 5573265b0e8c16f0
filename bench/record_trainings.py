"""A table of real trainings for bench/search.py: bench/record_trainings.py BUILD_DIR, which writes bench/trainings.csv.

Every point of a grid over learning rate, weight decay, width and loss is one training of a small U-Net on drawn cells (configs/demo.yaml
made smaller), with one seed. Searchers are then compared on the table, where a training costs nothing.
"""
import argparse
import csv
import itertools
import json
import os
import pathlib
import subprocess
import tempfile

from runs import ROOT, program

# As bench/search.py varies them: each in its order.
GRID = {
    "lr": [float(f"{10 ** (-4 + 0.3 * i):.3g}") for i in range(12)],
    "weight_decay": [0.0, 0.001, 0.01, 0.1, 1.0],
    "width": [2, 4, 8, 16],
    "loss": ["ce", "dice", "ce,dice"],
}
SMALL = ["train.device=cpu", "train.threads=1", "data.threads=1", "data.synthetic.size=48", "data.train.count=64", "data.val.count=32",
         "train.duration=40ba", "schedule.warmup=5ba", "train.batch_size=4", "train.norm_group=4", "eval.every=1dur", "checkpoint.every=1dur",
         "checkpoint.keep_best=false", "run.pictures=0", "run.tensorboard=false", "run.log_every=40ba"]


def mean_iou(build, point, folder):
    width = point["width"]
    command = [program(build), "train", ROOT.parent / "configs/demo.yaml", f"run.dir={folder}/run", *SMALL, f"optimizer.lr={point['lr']}",
               f"optimizer.weight_decay={point['weight_decay']}", f"model.unet.channels=[{width},{2 * width}]",
               f"model.unet.bottleneck={4 * width}", f"loss.terms=[{point['loss']}]"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        print(f"{point}: {done.stderr.splitlines()[-1]}", flush=True)
        return float("nan")  # diverged
    events = [json.loads(line) for line in (pathlib.Path(folder) / "run/log.jsonl").read_text().splitlines()]
    return [event for event in events if event["type"] == "eval"][-1]["metrics"]["mean_iou"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder or bundle")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "trainings.csv")
    options = parser.parse_args()
    with options.output.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*GRID, "mean_iou"])
        for values in itertools.product(*GRID.values()):
            with tempfile.TemporaryDirectory() as folder:
                table.writerow([*values, f"{mean_iou(options.build, dict(zip(GRID, values)), folder):.4f}"])
            file.flush()


if __name__ == "__main__":
    main()
