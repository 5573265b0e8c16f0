"""Training from JPEG files beside the same steps on one batch that is there already: bench/from_files.py BUILD_DIR PHOTOS [--out FILE].

PHOTOS holds images/*.jpg and masks/*.png. They are linked --copies times over, so that an epoch has many files, and DeepLabV3+ R50 (batch 16,
crops of 512, 150 classes, bf16) is trained on them by `tessera train`; `tessera bench step` times its steps without a loader. The two take
turns for --rounds rounds. Printed are images a second of both, the ratio, and the share of the time in which training waited for data.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from runs import ROOT, last_json, program

CLASSES = 150


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--log-every", type=int, default=50, help="steps of a measurement; the first two are left out")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more overrides of the config, for both")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def link_copies(photos, folder, copies):
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True)
        for path in sorted((photos / kind).iterdir()):
            for copy in range(copies):
                os.symlink(path.resolve(), folder / kind / f"{copy:04d}_{path.name}")


def steps_alone(options):
    return last_json([program(options.build), "bench", "step", ROOT / "configs/from_files.yaml", "data.type=synthetic", "data.synthetic.kind=shapes",
                      "data.synthetic.size=512", f"data.synthetic.num_classes={CLASSES}", "data.train.count=64", "data.train.transforms=[]",
                      f"train.device={options.device}", *options.set, "--steps", min(options.steps, 40)])


def training(options, data, run):
    classes = ",".join(f"class{number}" for number in range(CLASSES))
    command = [program(options.build), "train", ROOT / "configs/from_files.yaml", f"data.path={data}", f"data.classes=[{classes}]",
               f"train.device={options.device}", f"train.duration={options.steps}ba", f"run.log_every={options.log_every}ba", f"run.dir={run}", *options.set]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"training failed:\n{done.stderr[-4000:]}")
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    steady = [line for line in lines if line["type"] == "train"][2:]
    return {key: statistics.median(line[key] for line in steady) for key in ("images_per_s", "data_wait")}


def main():
    options = parse()
    rounds = []
    print(f"{'round':>5} {'one batch':>10} {'from files':>11} {'ratio':>7} {'waited':>8}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        link_copies(options.photos, folder / "data", options.copies)
        for number in range(options.rounds):
            alone, trained = steps_alone(options), training(options, folder / "data", folder / f"run{number}")
            rounds.append({"bench_step": alone["images_per_s"], **trained, "ratio": trained["images_per_s"] / alone["images_per_s"]})
            found = rounds[-1]
            print(f"{number:5} {found['bench_step']:10.1f} {found['images_per_s']:11.1f} {found['ratio']:7.3f} {found['data_wait']:8.2%}", flush=True)
    print(f"median ratio {statistics.median(found['ratio'] for found in rounds):.3f}, waited {statistics.median(found['data_wait'] for found in rounds):.2%}")
    if options.out:
        settings = {key: str(value) for key, value in vars(options).items()}
        options.out.write_text(json.dumps({"environment": alone["environment"], "settings": settings, "rounds": rounds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
