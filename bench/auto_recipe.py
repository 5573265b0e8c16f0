"""`tessera recipe auto` beside our hand-written configs in equal time: bench/auto_recipe.py BUILD_DIR --data FOLDER [--out FILE].

FOLDER holds dsb2018_nuclei, coco_tiny and ade20k_sample. The former two have validation images of their own; of the last, which has validation images only,
every other one is trained on. For each set the automatic config is made on the device at hand from the data's folder, and
the hand-written one is read; both train for --seconds of optimizer steps (`tessera bench step` times them, one after the other), from scratch, with the
same precision and seeds, and are measured on the validation images. Printed are mean and standard deviation of mean IoU over the seeds and the difference
with its standard error. Where the two measure at different sizes, each takes its predictions back to the images' own.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

from from_scratch import compared
from runs import ROOT, last_json, program

# The config that says where the samples are, which auto knows too, and the one a person wrote.
SETS = {"dsb2018_nuclei": ("configs/base/datasets/dsb2018_nuclei.yaml", "configs/unet/dsb2018_nuclei.yaml"),
        "coco_tiny": ("configs/base/datasets/coco_supercategories.yaml", "bench/configs/learning_coco.yaml"),
        "ade20k_sample": ("configs/base/datasets/ade20k.yaml", "bench/configs/auto_ade20k.yaml")}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=60, help="of optimizer steps, for each training")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--timed-steps", type=int, default=20)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more overrides of both")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured, e.g. in bench/results")
    return parser.parse_args()


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-4000:]}")
    return done


def halves(options, data, folder):
    """Lists of what is trained on and what is held out, where the set has one folder for both."""
    if data != "ade20k_sample":
        return []
    names = sorted(path.stem for path in (options.data / data / "images/validation").iterdir())
    keys = []
    for split, part in (("train", names[::2]), ("val", names[1::2])):
        path = pathlib.Path(folder).resolve() / f"{data}_{split}.txt"
        path.write_text("\n".join(part) + "\n")
        keys += [f"data.{split}.images=images/validation", f"data.{split}.masks=annotations/validation", f"data.{split}.list={path}"]
    return keys


def overrides(options, data, split):
    return [*split, f"data.path={(options.data / data).resolve()}", f"train.device={options.device}", f"train.precision={options.precision}", *options.set]


def train(options, data, split, variant, config, seed, steps):
    with tempfile.TemporaryDirectory() as folder:
        run(program(options.build), "train", config, *overrides(options, data, split), f"run.dir={folder}/run", f"train.seed={seed}", f"train.duration={steps}ba",
            "eval.every=1dur", "checkpoint.every=1dur", "checkpoint.early_stop=0", "run.pictures=0", "run.tensorboard=false", "run.log_every=100ba")
        events = [json.loads(line) for line in (pathlib.Path(folder) / "run/log.jsonl").read_text().splitlines()]
    last = {event["type"]: event for event in events}
    return {"variant": variant, "seed": seed, "steps": steps, "mean_iou": last["eval"]["metrics"]["mean_iou"], "seconds": last["end"]["seconds"]}


def compare(options, data, folder, found):
    split = halves(options, data, folder)
    layout, written = (ROOT.parent / part for part in SETS[data])
    automatic = pathlib.Path(folder) / f"{data}.yaml"
    run(program(options.build), "recipe", "auto", layout, *overrides(options, data, split), "-o", automatic)
    variants = {"hand": written, "auto": automatic}
    times = {name: last_json([program(options.build), "bench", "step", config, *overrides(options, data, split), "train.duration=1000ba", "--steps", options.timed_steps,
                              "--warmup", 5])["ms_median"] for name, config in variants.items()}
    steps = {name: max(1, round(1000 * options.seconds / ms)) for name, ms in times.items()}
    runs = [train(options, data, split, name, config, seed, steps[name]) for seed in options.seeds for name, config in variants.items()]
    summary = compared(runs, base="hand")
    print(f"\n{data}, {len(options.seeds)} seeds, {options.precision}, {options.seconds:g} s")
    print(f"{'':6} {'ms a step':>9} {'steps':>6} {'mean IoU':>8} {'spread':>7} {'minus hand':>11} {'error':>7}")
    for name in variants:
        row, apart = summary[name], summary[name].get("minus_hand", {"mean": 0.0, "standard_error": 0.0})
        print(f"{name:6} {times[name]:9.2f} {steps[name]:6} {row['mean']:8.4f} {row['deviation']:7.4f} {apart['mean']:+11.4f} {apart['standard_error']:7.4f}", flush=True)
    found[data] = {"ms_a_step": times, "steps": steps, "runs": runs, "summary": summary, "auto": automatic.read_text()}


def main():
    options = parse()
    os.environ["TESSERA_DATA"] = str(options.data.resolve())  # which the configs name
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for data in options.sets:
            compare(options, data, folder, found)
            if options.out:
                recipe = {name: value for name, value in vars(options).items() if name not in ("build", "data", "out")}
                options.out.write_text(json.dumps({"recipe": recipe, **found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
