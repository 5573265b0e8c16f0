"""Prediction and counting beside PyTorch eager and torch.compile, in one run: bench/evaluate.py BUILD_DIR [--out FILE].

Images a second through network, upsampling, argmax and confusion matrix: whole images, and 512 x 512 windows over images of 683 x 512.
All use the weights and the images that ours wrote and take turns for --rounds rounds; times are medians. The share of pixels by which
the sizes of their classes differ is printed and must be small. Needs no Python package but torch.
"""
import argparse
import json
import pathlib
import sys
import tempfile

from runs import ROOT, last_json, median_by, program

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


def measure(options, model, window, overrides, folder):
    dump = pathlib.Path(folder) / "start.safetensors"
    found = {kind: [] for kind in ("tessera", *options.kinds)}
    for _ in range(options.rounds):
        found["tessera"].append(last_json([program(options.build), "bench", "eval", ROOT / f"configs/{model}.yaml", f"train.device={options.device}",
                                           f"train.precision={options.precision}", *overrides, *options.set, "--rounds", options.batches, "--dump", dump]))
        for kind in options.kinds:
            found[kind].append(last_json([sys.executable, ROOT / "peers/evaluate.py", dump, "--model", model, "--device", options.device, "--precision",
                                          options.precision, "--window", window, "--batches", options.batches, *(["--compile"] if kind == "compile" else [])]))
    return found


def difference(a, b):
    """Share of pixels that are counted for another class, at least."""
    return sum(abs(x - y) for x, y in zip(a, b)) / 2 / sum(a)


def row_of(model, case, found):
    row = {"model": model, "case": case}
    for kind, results in found.items():
        row[kind] = {"images_per_s": median_by(results, "images_per_s"), "all_images_per_s": [result["images_per_s"] for result in results],
                     "peak_memory_bytes": results[0]["peak_memory_bytes"],
                     "difference": difference(found["tessera"][0]["predicted"], results[0]["predicted"])}
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
    rows = []
    print(f"{'model':14} {'images':8} {'':8} {'images/s':>10} {'ours is':>9} {'peak memory':>12} {'differ':>9}", flush=True)
    for model in options.models:
        for name, overrides in CASES:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(options, model, 512 if name == "windows" else 0, overrides, folder)
            rows.append(row_of(model, name, found))
            show(rows[-1])
            if options.out:
                settings = {key: getattr(options, key) for key in ("device", "precision", "rounds", "batches", "set")}
                options.out.write_text(json.dumps({"environment": found["tessera"][0]["environment"], "settings": settings, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
