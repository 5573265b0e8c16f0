"""Step time against batch size, image size and number of classes, to see that nothing grows faster than its pixels: bench/growth.py BUILD_DIR --out FILE.

One of the three changes at a time, the others stay at 16, 512 and 150; bf16, one GPU. chart.py draws the file.
"""
import argparse
import json
import pathlib
import tempfile

from runs import ROOT, ours

AXES = {"batch": (1, 2, 4, 8, 16, 32, 64), "size": (256, 384, 512, 768, 1024), "classes": (2, 19, 150, 500, 1000)}
POOLED = ("deeplabv3plus", "pspnet")
USUAL = {"batch": 16, "size": 512, "classes": 150}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--models", nargs="+", default=["unet", "deeplabv3plus", "segmenter", "pspnet"])
    parser.add_argument("--axes", nargs="+", choices=sorted(AXES), default=list(AXES))
    parser.add_argument("--least", type=int, default=0, help="leave smaller values out")
    parser.add_argument("--most", type=int, default=10**9, help="leave larger values out")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    return parser.parse_args()


def step(options, model, place, folder):
    overrides = [f"train.device={options.device}", f"train.precision={options.precision}", f"train.batch_size={place['batch']}",
                 f"train.norm_group={place['batch']}", f"data.train.count={place['batch']}", f"data.synthetic.size={place['size']}",
                 f"data.synthetic.num_classes={place['classes']}", f"model.segmenter.image_size={place['size']}"]
    return ours(options.build, ROOT / f"configs/{model}.yaml", overrides, options.steps, options.warmup, folder / "start.safetensors")


def main():
    options = parse()
    rows, environment = [], None
    for model in options.models:
        for axis in options.axes:
            for value in (value for value in AXES[axis] if options.least <= value <= options.most):
                if model in POOLED and axis == "batch" and value == 1:
                    continue  # batch norm over one pooled value has no variance
                place = {**USUAL, axis: value}
                with tempfile.TemporaryDirectory() as folder:
                    found = step(options, model, place, pathlib.Path(folder))
                environment = found["environment"]
                pixels = place["batch"] * place["size"] ** 2
                rows.append({"model": model, "axis": axis, **place, "ms": found["ms_median"], "ns_per_pixel": found["ms_median"] * 1e6 / pixels,
                             "peak_memory_bytes": found["peak_memory_bytes"]})
                print(f"{model:14} {axis:8} {value:5} {found['ms_median']:9.2f} ms {rows[-1]['ns_per_pixel']:8.2f} ns a pixel", flush=True)
                options.out.write_text(json.dumps({"environment": environment, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
