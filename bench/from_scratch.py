"""The same U-Net from scratch in ours and in plain PyTorch, several seeds each: bench/from_scratch.py BUILD_DIR --data dsb2018_nuclei.

Three variants: ours as it starts by default, ours with model.init=he, and PyTorch with its default initialisation; the same layers,
crops, flips, loss, SGD, schedule and number of steps (bench/configs/from_scratch.yaml, bench/peers/train.py). All are measured by the
same PyTorch code, on the whole images of the validation split; what our own evaluation says of ours must agree with that. Needs torch,
and for the peer's pixels Pillow or a file of --prepare.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from runs import ROOT, last_json, program

sys.path.insert(0, str(ROOT / "peers"))
from recipe_options import add_recipe_options

OURS = {"reference": [], "he": ["model.init=he"]}
# Two ways to the same pixels: JPEG decoders round differently, and a few pixels lie on the edge between two classes.
SAME_MEASURE = 0.002


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", help="build folder or bundle")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of dsb2018_nuclei")
    parser.add_argument("--pixels", type=pathlib.Path, help="a file of --prepare, where Python cannot decode images")
    parser.add_argument("--prepare", type=pathlib.Path, metavar="FILE", help="write the decoded images for --pixels, and end")
    parser.add_argument("--variants", nargs="+", default=[*OURS, "pytorch"], choices=[*OURS, "pytorch"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    add_recipe_options(parser)
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured, e.g. in bench/results")
    return parser.parse_args()


def peer(options, *arguments):
    return last_json([sys.executable, ROOT / "peers/train.py", options.pixels or options.data, "--device", options.device, "--precision",
                      options.precision, "--channels", *options.channels, "--bottleneck", options.bottleneck, *arguments])


def pytorch(options, seed):
    return peer(options, "--seed", seed, "--steps", options.steps, "--batch", options.batch, "--crop", options.crop, "--lr", options.lr)


def own_evaluation(run):
    """Mean IoU at the end, the last training loss in the log, and seconds, as a run of ours wrote them."""
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    last = {event["type"]: event for event in events}
    return {"own_mean_iou": last["eval"]["metrics"]["mean_iou"], "last_loss": last["train"]["loss"], "seconds": last["end"]["seconds"]}


def ours(options, overrides, seed, folder):
    run = pathlib.Path(folder) / "run"
    command = [program(options.build), "train", ROOT / "configs/from_scratch.yaml", f"data.path={options.data.resolve()}", f"run.dir={run}",
               f"train.seed={seed}", f"train.duration={options.steps}ba", f"train.batch_size={options.batch}", f"train.norm_group={options.batch}",
               f"train.device={options.device}", f"train.precision={options.precision}", f"optimizer.lr={options.lr}",
               f"model.unet.channels={options.channels}", f"model.unet.bottleneck={options.bottleneck}",
               f"data.train.transforms=[{{random_crop: {{size: {options.crop}}}}}, {{flip: {{horizontal: 0.5, vertical: 0.5}}}}]", *overrides]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          env={**os.environ, "TESSERA_DATA": str(options.data.resolve().parent)})
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-4000:]}")
    weights = sorted((run / "checkpoints").glob("step-*/model.safetensors"))[-1]
    found = {**peer(options, "--weights", weights), **own_evaluation(run)}
    if abs(found["mean_iou"] - found["own_mean_iou"]) > SAME_MEASURE:
        raise SystemExit(f"the same weights have mean IoU {found['mean_iou']:.4f} in PyTorch and {found['own_mean_iou']:.4f} in our evaluation")
    return found


def compared(runs, base="pytorch"):
    """Mean, and standard deviation over the seeds, of each variant's mean IoU; its difference to `base` and that difference's standard error."""
    values = {}
    for run in runs:
        values.setdefault(run["variant"], []).append(run["mean_iou"])
    deviation = {variant: statistics.stdev(found) if len(found) > 1 else float("nan") for variant, found in values.items()}
    summary = {variant: {"seeds": len(found), "mean": statistics.mean(found), "deviation": deviation[variant], "lowest": min(found),
                         "highest": max(found)} for variant, found in values.items()}
    for variant in values.keys() - {base} if base in values else ():
        error = sum(deviation[name] ** 2 / len(values[name]) for name in (variant, base)) ** 0.5
        summary[variant][f"minus_{base}"] = {"mean": summary[variant]["mean"] - summary[base]["mean"], "standard_error": error}
    return summary


def prepare(options):
    import nuclei  # needs torch
    nuclei.write(nuclei.read(options.data), options.prepare)


def main():
    options = parse()
    if options.prepare:
        return prepare(options)
    if not options.build and set(options.variants) & set(OURS):
        raise SystemExit("expected the build folder of ours as the first argument")
    runs = []
    for seed in options.seeds:
        for variant in options.variants:
            with tempfile.TemporaryDirectory() as folder:
                found = pytorch(options, seed) if variant == "pytorch" else ours(options, OURS[variant], seed, folder)
            runs.append({"variant": variant, "seed": seed, **found})
            print(f"{variant:10} seed {seed}: mean IoU {found['mean_iou']:.4f}, nucleus {found['iou']['nucleus']:.4f}, {found['seconds']:.0f} s",
                  flush=True)
            if options.out:
                recipe = {name: value for name, value in vars(options).items() if name not in ("build", "data", "pixels", "prepare", "out")}
                options.out.write_text(json.dumps({"recipe": recipe, "runs": runs, "summary": compared(runs)}, indent=2) + "\n")
    for variant, found in compared(runs).items():
        apart = found.get("minus_pytorch")
        text = f"; minus PyTorch {apart['mean']:+.4f} +- {apart['standard_error']:.4f}" if apart else ""
        print(f"{variant:10} {found['mean']:.4f} +- {found['deviation']:.4f} ({found['lowest']:.4f} to {found['highest']:.4f}){text}")


if __name__ == "__main__":
    main()
