"""A training step of every full-size model (configs/base/models): bench/models.py BUILD [options]; prints a table.

The defaults are those of docs/models.md: 512 x 512, batch 8, bf16, 150 classes, on the GPU if there is one. Each model runs in a
process of its own, so that its peak memory is its own: of the GPU's allocator, or on a CPU of the process.
"""
import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys

from runs import program

ROOT = pathlib.Path(__file__).resolve().parents[1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder")
    parser.add_argument("--only", default="*", help="names or patterns of configs/base/models, separated by commas")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--classes", type=int, default=150)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="further settings: model.backbone.width=8")
    parser.add_argument("--out", help="also write all numbers to this JSON file")
    return parser.parse_args()


def chosen(only):
    names = sorted(path.stem for path in (ROOT / "configs/base/models").glob("*.yaml"))
    found = [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in only.split(","))]
    if not found:
        raise SystemExit(f"--only {only} matches none of: {', '.join(names)}")
    return found


def step(options, name):
    """The numbers of one model, or why there are none."""
    command = [program(options.build), "bench", "step", ROOT / f"configs/base/models/{name}.yaml",
               "data.type=synthetic", "data.synthetic.kind=shapes", f"data.synthetic.num_classes={options.classes}",
               f"data.synthetic.size={options.size}", f"data.train.count={options.batch}", f"train.batch_size={options.batch}",
               f"train.norm_group={options.batch}", f"train.precision={options.precision}", f"train.device={options.device}",
               *options.set, "--steps", options.steps, "--warmup", options.warmup]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"}
    return json.loads(done.stdout)


def main():
    options = arguments()
    rows = {}
    print(f"One training step, {options.size} x {options.size}, batch {options.batch}, {options.precision}, {options.classes} classes\n")
    print(f"| {'model':<26} | {'parameters':>11} | {'ms':>8} | {'images/s':>8} | {'peak memory, GiB':>16} | {'micro-batch':>11} |")
    print(f"|{'-' * 28}|{'-' * 13}|{'-' * 10}|{'-' * 10}|{'-' * 18}|{'-' * 13}|")
    for name in chosen(options.only):
        row = rows[name] = step(options, name)
        if "error" in row:
            print(f"| {name:<26} | {row['error']} |", flush=True)
            continue
        print(f"| {name:<26} | {row['parameters']:>11,} | {row['ms_median']:>8.1f} | {row['images_per_s']:>8.1f} | "
              f"{row['peak_memory_bytes'] / 2**30:>16.2f} | {row['micro_batch']:>11} |", flush=True)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(rows, indent=2) + "\n")
    return 1 if any("error" in row for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
