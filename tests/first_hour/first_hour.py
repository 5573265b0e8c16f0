"""The first hour: six folders as people have them, each from nothing to a report and predictions in three commands.

first_hour.py PROGRAM [--keep FOLDER] [--full]. `tessera data check` is given the folder and nothing else; what it prints is
trained with, and the run is applied to images. No flag is used that check did not print, but for those of SHORT, which make
miniatures of the network and the training; with --full they are left out and the images are larger (about an hour on two cores).
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys

from folders import FOLDERS
from support import Folder, check, log_lines

SHORT = ["model.unet.channels=[8,16]", "model.unet.bottleneck=32", "data.train.transforms=[{random_crop: {size: 48}}, flip]", "train.duration=60ba",
         "train.batch_size=4", "train.norm_group=4", "eval.every=60ba", "checkpoint.every=60ba", "run.pictures=2"]
LEARNED = 0.6  # mean IoU; a class that is never predicted leaves a third or half of it


def run(words, folder, expect=(0,)):
    """Runs a command in the folder; returns its results, without the log."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=3600, check=False,
                          env={**os.environ, "PATH": f"{pathlib.Path(sys.argv[1]).resolve().parent}:{os.environ['PATH']}"})
    check(done.returncode in expect, f"$ {shlex.join(map(str, words))}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def first_hour(name, home, images, short):
    print(f"== {name}", flush=True)
    # Exit code 2 says that settings are needed; they are in the command that is printed.
    advice = run(["tessera", "data", "check", f"data.path={name}"], home, expect=(0, 2))
    commands = [line.strip() for line in advice.splitlines() if line.strip().startswith("tessera train ")]
    check(len(commands) == 1, f"expected one command to train with:\n{advice}")
    print(f"   {commands[0]}", flush=True)
    run([*shlex.split(commands[0]), *short], home)
    runs = list((home / "runs").glob(f"{name}*"))
    check(len(runs) == 1, f"runs are {runs}")
    run(["tessera", "predict", "--weights", runs[0], "--overlay", images, "-o", home / "predictions" / name], home)

    check((runs[0] / "report.html").stat().st_size > 10_000, f"{name}: no report")
    score = [line for line in log_lines(runs[0]) if line["type"] == "eval"][-1]["metrics"]["mean_iou"]
    check(score > LEARNED, f"{name}: mean IoU {score}")
    pictures = [path for path in (home / "predictions" / name).rglob("*.png")]
    inputs = [path for path in pathlib.Path(images).rglob("*") if path.is_file()]
    check(len(pictures) >= len(inputs), f"{name}: {len(pictures)} pictures of {len(inputs)} images")
    print(f"   mean IoU {score:.3f}; {len(pictures)} pictures", flush=True)
    return runs[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="make everything there, and keep it")
    parser.add_argument("--full", action="store_true", help="larger images, and nothing of SHORT")
    parser.add_argument("--only", choices=FOLDERS, help="one folder")
    options = parser.parse_args()
    side, count, short = (192, 40, []) if options.full else (48, 12, SHORT)
    with Folder() as temporary:
        home = (options.keep or temporary).resolve()
        home.mkdir(parents=True, exist_ok=True)
        for name, make in FOLDERS.items():
            if options.only in (None, name):
                made = first_hour(name, home, make(home / name, side, count), short)
                if name == "streets":  # the split that training never saw
                    result = json.loads(run(["tessera", "eval", "--weights", made, "--split", "test", "--json"], home))
                    check(result["metrics"]["mean_iou"] > LEARNED, f"test split: {result}")
    print("six folders, three commands each" if not options.only else "done")


if __name__ == "__main__":
    main()
