"""Prediction and counting beside PyTorch eager and torch.compile, in one run: bench/evaluate.py BUILD_DIR [--out FILE].

Images a second through network, upsampling, argmax and confusion matrix: whole images, and 512 x 512 windows over images of 683 x 512.
All use the weights and the images that ours wrote; the share of pixels by which the sizes of their classes differ is printed. Needs no Python package but torch.
"""
import argparse
import json
import pathlib
import sys
import tempfile

from runs import ROOT, last_json, program

# The peers put a window of each of the 16 images into a forward pass.
CASES = (("whole", []), ("windows", ["data.synthetic.size=[512,683]", "eval.window.size=512", "eval.window.batch=16"]))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--models", nargs="+", default=["deeplabv3plus", "segmenter"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--kinds", nargs="+", default=["eager", "compile"])
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more overrides of our config")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def measure(options, model, window, overrides, folder):
    dump = pathlib.Path(folder) / "start.safetensors"
    found = {"tessera": last_json([program(options.build), "bench", "eval", ROOT / f"configs/{model}.yaml",
                                   f"train.device={options.device}", f"train.precision={options.precision}", *overrides, *options.set,
                                   "--rounds", options.rounds, "--dump", dump])}
    for kind in options.kinds:
        found[kind] = last_json([sys.executable, ROOT / "peers/evaluate.py", dump, "--model", model, "--device", options.device,
                                 "--precision", options.precision, "--window", window, "--rounds", options.rounds,
                                 *(["--compile"] if kind == "compile" else [])])
    return found


def difference(a, b):
    """Share of pixels that are counted for another class, at least."""
    return sum(abs(x - y) for x, y in zip(a, b)) / 2 / sum(a)


def main():
    options = parse()
    rows = []
    print(f"{'model':14} {'images':8} {'':8} {'images/s':>10} {'ours is':>9} {'differ':>9}", flush=True)
    for model in options.models:
        for name, overrides in CASES:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(options, model, 512 if name == "windows" else 0, overrides, folder)
            rows.append({"model": model, "case": name, **found})
            for kind, part in found.items():
                ratio = "" if kind == "tessera" else f"{found['tessera']['images_per_s'] / part['images_per_s']:8.2f}x"
                apart = f"{difference(found['tessera']['predicted'], part['predicted']):9.1e}"
                print(f"{model:14} {name:8} {kind:8} {part['images_per_s']:10.1f} {ratio:>9} {apart}", flush=True)
            if options.out:
                options.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
