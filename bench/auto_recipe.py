"""`tessera recipe auto` beside our hand-written configs in equal time: bench/auto_recipe.py BUILD_DIR --data FOLDER [--out FILE].

FOLDER holds dsb2018_nuclei, coco_tiny and ade20k_sample. The former two have validation images of their own; of the last, which has three validation images
only, every other one is trained on: what is measured there is one image. For each set the automatic config is made on the device at hand from the training
images, and the hand-written one is read. `tessera bench step` times the steps of all, one after another; both configs of a set then train for as many steps
as take --seconds, from scratch, with the same precision and seeds, and are measured on the validation images at their own size by the weights of the last
step. The trainings may run side by side (--jobs): their number of steps is fixed by then. The first seed of all sets comes first, and each result is written
to --out when it is there; what fails is told with its message and does not end the others. Printed are mean and standard deviation of mean IoU over the
seeds and the difference with its standard error.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import time

from from_scratch import compared
from runs import ROOT, program

# The config that says where the samples are, which auto knows too, and the one a person wrote.
SETS = {"dsb2018_nuclei": ("configs/base/datasets/dsb2018_nuclei.yaml", "configs/unet/dsb2018_nuclei.yaml"),
        "coco_tiny": ("configs/base/datasets/coco_supercategories.yaml", "bench/configs/learning_coco.yaml"),
        "ade20k_sample": ("configs/base/datasets/ade20k.yaml", "bench/configs/auto_ade20k.yaml")}
VARIANTS = ("hand", "auto")
# One evaluation, at the end, and nothing else that takes time.
PLAIN_RUN = ["eval.every=1dur", "checkpoint.every=1dur", "checkpoint.early_stop=0", "checkpoint.keep_best=false", "run.pictures=0", "run.tensorboard=false",
             "run.log_every=100ba"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder or bundle")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=60, help="of optimizer steps, for each training")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which no training is started any more")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--timed-steps", type=int, default=40)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more overrides of both")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for everything measured, e.g. in bench/results")
    return parser.parse_args()


class Failed(Exception):
    pass


def run(*command):
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-500:]}{done.stderr[-3000:]}")
    return done.stdout


def halves(options, data, folder):
    """Lists of what is trained on and what is held out, where the set has one folder for both."""
    if data != "ade20k_sample":
        return []
    names = sorted(path.stem for path in (options.data / data / "images/validation").iterdir())
    keys = []
    for split, part in (("train", names[::2]), ("val", names[1::2])):
        path = folder / f"{data}_{split}.txt"
        path.write_text("\n".join(part) + "\n")
        keys += [f"data.{split}.images=images/validation", f"data.{split}.masks=annotations/validation", f"data.{split}.list={path}"]
    return keys


class Comparison:
    """The two configs of a set, and what is known of them so far."""

    def __init__(self, options, data, folder):
        self.options, self.data = options, data
        self.overrides = [*halves(options, data, folder), f"data.path={(options.data / data).resolve()}", f"train.device={options.device}",
                          f"train.precision={options.precision}", *options.set]
        self.configs = {"hand": ROOT.parent / SETS[data][1], "auto": folder / f"{data}.yaml"}
        self.times, self.steps, self.runs, self.failures = {}, {}, [], []

    def make_auto(self):
        run(program(self.options.build), "recipe", "auto", ROOT.parent / SETS[self.data][0], *self.overrides, "-o", self.configs["auto"])

    def time_steps(self):
        for variant in VARIANTS:
            out = run(program(self.options.build), "bench", "step", self.configs[variant], *self.overrides, "train.duration=1000ba", "--steps",
                      self.options.timed_steps, "--warmup", 10)
            self.times[variant] = json.loads(out[out.index("{"):])["ms_median"]
            self.steps[variant] = max(1, round(1000 * self.options.seconds / self.times[variant]))

    def train(self, variant, seed):
        threads = max(1, len(os.sched_getaffinity(0)) // self.options.jobs)
        with tempfile.TemporaryDirectory() as folder:
            run(program(self.options.build), "train", self.configs[variant], *self.overrides, *PLAIN_RUN, f"run.dir={folder}/run", f"train.seed={seed}",
                f"train.duration={self.steps[variant]}ba", f"data.threads={threads}")
            events = [json.loads(line) for line in (pathlib.Path(folder) / "run/log.jsonl").read_text().splitlines()]
        last = {event["type"]: event for event in events}
        metrics = last["eval"]["metrics"]
        return {"variant": variant, "seed": seed, "steps": self.steps[variant], "mean_iou": metrics["mean_iou"], "pixel_accuracy": metrics["pixel_accuracy"],
                "loss": last["train"]["loss"], "seconds": last["end"]["seconds"]}

    def found(self):
        auto = self.configs["auto"]
        return {"ms_a_step": self.times, "steps": self.steps, "runs": self.runs, "summary": compared(self.runs, base="hand"), "failures": self.failures,
                "auto": auto.read_text() if auto.exists() else None}

    def failed(self, what, error):
        self.failures.append({"what": what, "error": str(error)})
        print(f"{self.data}: {what} FAILED: {error}", flush=True)

    def table(self):
        summary = compared(self.runs, base="hand")
        print(f"\n{self.data}, seeds {self.options.seeds}, {self.options.precision}, {self.options.seconds:g} s; {len(self.failures)} failures")
        print(f"{'':6} {'ms a step':>9} {'steps':>6} {'seeds':>5} {'mean IoU':>8} {'spread':>7} {'minus hand':>11} {'error':>7}")
        for name in (name for name in VARIANTS if name in summary):
            row, apart = summary[name], summary[name].get("minus_hand", {"mean": 0.0, "standard_error": 0.0})
            print(f"{name:6} {self.times[name]:9.2f} {self.steps[name]:6} {row['seeds']:5} {row['mean']:8.4f} {row['deviation']:7.4f} {apart['mean']:+11.4f} "
                  f"{apart['standard_error']:7.4f}", flush=True)


def prepared(comparisons):
    """Those of which both steps could be timed. Configs are made side by side, since their own times are not used; steps are timed alone."""
    made = []
    with concurrent.futures.ThreadPoolExecutor(len(comparisons)) as pool:
        making = [(one, pool.submit(one.make_auto)) for one in comparisons]
    for one, future in making:
        try:
            future.result()
            one.time_steps()
            made.append(one)
            print(f"{one.data}: {', '.join(f'{name} {one.times[name]:.2f} ms a step, {one.steps[name]} steps' for name in VARIANTS)}", flush=True)
        except Failed as error:
            one.failed("the automatic config or the time of a step", error)
    return made


def save(options, comparisons):
    if options.out:
        recipe = {name: value for name, value in vars(options).items() if name not in ("build", "data", "out", "limit")}
        options.out.write_text(json.dumps({"recipe": recipe, **{one.data: one.found() for one in comparisons}}, indent=2) + "\n")


def main():
    options = parse()
    end = time.monotonic() + options.limit
    program(options.build)  # once, for what it says of the environment
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary).resolve()
        # The configs name the former. The latter has no pretrained weights, which one of the two could take.
        os.environ.update(TESSERA_DATA=str(options.data.resolve()), TESSERA_CACHE=str(folder / "cache"))
        comparisons = [Comparison(options, data, folder) for data in options.sets]
        ready = prepared(comparisons)
        save(options, comparisons)

        def train(one, variant, seed):
            if time.monotonic() > end:
                raise Failed("not started: --limit")
            return one.train(variant, seed)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = {pool.submit(train, one, variant, seed): (one, variant, seed) for seed in options.seeds for one in ready for variant in VARIANTS}
            for job in concurrent.futures.as_completed(jobs):
                one, variant, seed = jobs[job]
                try:
                    one.runs.append(job.result())
                    print(f"{one.data} {variant} seed {seed}: mean IoU {one.runs[-1]['mean_iou']:.4f}, loss {one.runs[-1]['loss']:.3f}, "
                          f"{one.runs[-1]['seconds']:.0f} s", flush=True)
                except (Failed, KeyError, OSError, ValueError) as error:
                    one.failed(f"{variant}, seed {seed}", error)
                save(options, comparisons)
        for one in ready:
            one.table()
    if any(one.failures for one in comparisons):
        raise SystemExit("some of it failed, as said above")


if __name__ == "__main__":
    main()
