"""Prediction and counting beside PyTorch eager and torch.compile, in one run: bench/evaluate.py BUILD_DIR [--out FILE].

Images a second through network, upsampling, argmax and confusion matrix: whole images, and 512 x 512 windows over images of 683 x 512.
All use the weights and the images that ours wrote; each is started once and warmed up alone, then they take turns for --rounds rounds; times are medians. The share of pixels by which
the sizes of their classes differ is printed and must be small. Needs no Python package but torch.
"""
import argparse
import concurrent.futures
import itertools
import json
import pathlib
import statistics
import sys
import tempfile

from runs import ROOT, in_turns, last_json, program

# The peers put a window of each of the 16 images into a forward pass.
CASES = (("whole", []), ("windows", ["data.synthetic.size=[512,683]", "eval.window.size=512", "eval.window.batch=16"]))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--models", nargs="+", default=["deeplabv3plus", "segmenter"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=20, help="batches of a round")
    parser.add_argument("--kinds", nargs="+", default=["eager", "compile"])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more overrides of our config")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def commands(options, model, window, overrides, dump, batches):
    """What starts each program, by its kind."""
    arguments = ["--model", model, "--device", options.device, "--precision", options.precision, "--window", window, "--batches", batches]
    return {"tessera": [program(options.build), "bench", "eval", ROOT / f"configs/{model}.yaml", f"train.device={options.device}",
                                f"train.precision={options.precision}", *overrides, *options.set, "--rounds", batches, "--dump", dump],
            **{kind: [sys.executable, ROOT / "peers/evaluate.py", dump, *arguments, *(["--compile"] if kind == "compile" else [])]
               for kind in options.kinds}}


def fill_compiler_cache(options):
    """As gpu_step.py does."""
    def compile_one(case):
        model, (name, overrides) = case
        with tempfile.TemporaryDirectory() as folder:
            found = commands(options, model, window_of(name), overrides, pathlib.Path(folder) / "start.safetensors", 1)
            for kind in ("tessera", "compile"):
                last_json(found[kind])

    if "compile" in options.kinds:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(compile_one, itertools.product(options.models, CASES)))


def window_of(case):
    return 512 if case == "windows" else 0


def measure(options, model, case, overrides):
    with tempfile.TemporaryDirectory() as folder:
        return in_turns(commands(options, model, window_of(case), overrides, pathlib.Path(folder) / "start.safetensors", options.batches), options.rounds)


def difference(a, b):
    """Share of pixels that are counted for another class, at least."""
    return sum(abs(x - y) for x, y in zip(a, b)) / 2 / sum(a)


def row_of(model, case, found):
    row = {"model": model, "case": case}
    for kind, result in found.items():
        rates = [result["images_per_s"] * result["ms_median"] / ms for ms in result["ms_of_turns"]]
        row[kind] = {"images_per_s": statistics.median(rates), "all_images_per_s": rates, "peak_memory_bytes": result["peak_memory_bytes"],
                     "difference": difference(found["tessera"]["predicted"], result["predicted"])}
        # Weights are random here, so many pixels have two classes that are nearly equal; another network would differ in most.
        if row[kind]["difference"] > 0.1:
            raise SystemExit(f"{model}, {case}: {kind} gives {row[kind]['difference']:.1%} of the pixels to another class: not the same work")
    return row


def show(row):
    for kind in [key for key in row if isinstance(row[key], dict)]:
        part = row[kind]
        ratio = "" if kind == "tessera" else f"{row['tessera']['images_per_s'] / part['images_per_s']:8.2f}x"
        memory = f"{part['peak_memory_bytes'] / 2**30:8.2f} GiB" if part["peak_memory_bytes"] else f"{'-':>12}"
        print(f"{row['model']:14} {row['case']:8} {kind:8} {part['images_per_s']:10.1f} {ratio:>9} {memory} {part['difference']:9.1e}", flush=True)


def main():
    options = parse()
    fill_compiler_cache(options)
    rows = []
    print(f"{'model':14} {'images':8} {'':8} {'images/s':>10} {'ours is':>9} {'peak memory':>12} {'differ':>9}", flush=True)
    for model in options.models:
        for name, overrides in CASES:
            found = measure(options, model, name, overrides)
            rows.append(row_of(model, name, found))
            show(rows[-1])
            if options.out:
                settings = {key: getattr(options, key) for key in ("device", "precision", "rounds", "batches", "set")}
                options.out.write_text(json.dumps({"environment": found["tessera"]["environment"], "settings": settings, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
