"""What recipes and single algorithms are worth in equal time: bench/learning.py BUILD_DIR --data FOLDER [--out FILE].

FOLDER holds dsb2018_nuclei and coco_tiny. Each variant trains the same U-Net from scratch for the time that --steps steps of the plain one take: `tessera
bench step` times the steps of all variants, one after another, and what costs more gets fewer of them. The trainings themselves may run side by side
(--jobs): their number of steps is fixed by then. Printed are mean and standard deviation of the validation mean IoU over the seeds, and the difference to
the plain variant with its standard error.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile

from from_scratch import compared
from runs import ROOT, last_json, program

DATA = {"dsb2018_nuclei": "from_scratch.yaml", "coco_tiny": "learning_coco.yaml"}
EMA = ["train.ema.half_life=0.05dur", "train.ema.start=0.1dur"]
MIXUP = ["train.mixup.alpha=0.2"]
SAM = ["train.sam.rho=0.3", "train.sam.interval=2"]
VARIANTS = {
    "plain": [], "mild": ["recipe=mild"], "medium": ["recipe=medium"], "hot": ["recipe=hot"],
    "EMA": EMA, "MixUp": MIXUP, "SAM": SAM, "EMA + MixUp": [*EMA, *MIXUP], "EMA + SAM": [*EMA, *SAM], "MixUp + SAM": [*MIXUP, *SAM],
    "EMA + MixUp + SAM": [*EMA, *MIXUP, *SAM],
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=DATA, default=[*DATA])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=[*VARIANTS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=1500, help="of the plain variant")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--timed-steps", type=int, default=40)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more overrides of every variant")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured, e.g. in bench/results")
    return parser.parse_args()


def arguments_of(options, data, variant):
    path = (options.data / data).resolve()
    return [ROOT / "configs" / DATA[data], f"data.path={path}", f"train.device={options.device}", f"train.precision={options.precision}",
            *VARIANTS[variant], *options.set]


def step_ms(options, data, variant):
    return last_json([program(options.build), "bench", "step", *arguments_of(options, data, variant), "train.duration=1000ba",
                      "--steps", options.timed_steps, "--warmup", 10])["ms_median"]


def train(options, data, variant, seed, steps):
    with tempfile.TemporaryDirectory() as folder:
        command = [program(options.build), "train", *arguments_of(options, data, variant), f"run.dir={folder}/run", f"train.seed={seed}",
                   f"train.duration={steps}ba", f"data.threads={max(1, len(os.sched_getaffinity(0)) // options.jobs)}"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-4000:]}")
        events = [json.loads(line) for line in (pathlib.Path(folder) / "run/log.jsonl").read_text().splitlines()]
    last = {event["type"]: event for event in events}
    return {"variant": variant, "seed": seed, "steps": steps, "mean_iou": last["eval"]["metrics"]["mean_iou"], "seconds": last["end"]["seconds"]}


def learn(options, data, found):
    times = {variant: step_ms(options, data, variant) for variant in ["plain", *(v for v in options.variants if v != "plain")]}
    steps = {variant: round(options.steps * times["plain"] / ms) for variant, ms in times.items()}
    jobs = [(variant, seed) for seed in options.seeds for variant in options.variants]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = list(pool.map(lambda job: train(options, data, *job, steps[job[0]]), jobs))
    summary = compared(runs, base="plain")
    print(f"\n{data}, {len(options.seeds)} seeds, {options.precision}")
    print(f"{'':20} {'ms a step':>9} {'steps':>6} {'mean IoU':>8} {'spread':>7} {'minus plain':>11} {'error':>7}")
    for variant in options.variants:
        row, apart = summary[variant], summary[variant].get("minus_plain", {"mean": 0.0, "standard_error": 0.0})
        print(f"{variant:20} {times[variant]:9.2f} {steps[variant]:6} {row['mean']:8.4f} {row['deviation']:7.4f} {apart['mean']:+11.4f} {apart['standard_error']:7.4f}",
              flush=True)
    found[data] = {"ms_a_step": times, "steps": steps, "runs": runs, "summary": summary}


def main():
    options = parse()
    os.environ["TESSERA_DATA"] = str(options.data.resolve())  # which the configs name
    found = {}
    for data in options.sets:
        learn(options, data, found)
        if options.out:
            recipe = {name: value for name, value in vars(options).items() if name not in ("build", "data", "out")}
            options.out.write_text(json.dumps({"recipe": recipe, **found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
