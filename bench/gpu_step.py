"""Training steps beside PyTorch eager and torch.compile on one GPU, in one run: bench/gpu_step.py BUILD_DIR [--out FILE].

Batch 16, 512x512, 150 classes, bf16 autocast, channels_last, fused SGD. The three take turns for --rounds rounds; times are medians.
All start from the weights and the batch that ours wrote, and the losses of the first 20 steps must agree. Needs no Python
package but torch. Smaller sizes and --device cpu are for trying the script out.
"""
import argparse
import json
import pathlib
import tempfile

from runs import ROOT, median_by, median_losses, ours, peer, require_agreement

MODELS = ("unet", "deeplabv3plus", "segmenter", "pspnet")
KINDS = ("tessera", "eager", "compile")
RATES = {"segmenter": 0.001}  # the published recipes' rates; a ViT at 0.01 jumps from step to step, so that no two programs agree


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--classes", type=int, default=150)
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="bf16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="more overrides of our config")
    parser.add_argument("--profile", action="store_true", help="also record the time of each kernel, for kernel_groups.py")
    parser.add_argument("--out", type=pathlib.Path, help="write everything measured to this JSON file")
    return parser.parse_args()


def measure(model, options):
    overrides = [f"train.device={options.device}", f"train.precision={options.precision}", f"train.batch_size={options.batch}",
                 f"train.norm_group={options.batch}", f"data.synthetic.size={options.size}", f"data.synthetic.num_classes={options.classes}",
                 f"model.segmenter.image_size={options.size}", f"optimizer.lr={RATES.get(model, 0.01)}", *options.set]
    arguments = ["--device", options.device, "--precision", options.precision, "--lr", RATES.get(model, 0.01)]
    results = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "start.safetensors"
        for _ in range(options.rounds):
            results["tessera"].append(ours(options.build, ROOT / f"configs/{model}.yaml", overrides, options.steps, options.warmup, dump, options.profile))
            for kind in KINDS[1:]:
                if kind in options.kinds:
                    results[kind].append(peer(dump, model, arguments, kind == "compile", options.steps, options.warmup, options.profile))
    return {kind: found for kind, found in results.items() if found}


def row_of(model, results, precision):
    row = {"model": model}
    for kind, found in results.items():
        row[kind] = {"ms": median_by(found), "all_ms": [result["ms_median"] for result in found], "peak_memory_bytes": found[0].get("peak_memory_bytes"),
                     "parameters": found[0]["parameters"], "losses": median_losses(found, 20),
                     **{key: found[0][key] for key in ("profile", "least") if found[0].get(key)}}
        if kind != "tessera":
            row[kind]["speed_up"] = row[kind]["ms"] / row["tessera"]["ms"]
            row[kind]["loss_difference"] = require_agreement(f"{model}, {kind}", row["tessera"]["losses"], row[kind]["losses"], precision)
            assert row[kind]["parameters"] == row["tessera"]["parameters"], (model, kind, row[kind]["parameters"], row["tessera"]["parameters"])
    return row


def show(row):
    for kind in KINDS:
        if kind not in row:
            continue
        part = row[kind]
        memory = f"{part['peak_memory_bytes'] / 2**30:8.2f} GiB" if part["peak_memory_bytes"] else f"{'-':>12}"
        ratio = f"{part['speed_up']:8.2f}x" if "speed_up" in part else f"{'':9}"
        difference = f"{part['loss_difference']:12.1e}" if "loss_difference" in part else f"{'':12}"
        print(f"{row['model']:14} {kind:8} {part['ms']:9.2f} ms {ratio} {memory} {part['losses'][0]:10.5f} {part['losses'][-1]:10.5f} {difference}", flush=True)


def main():
    options = parse()
    print(f"{'model':14} {'':8} {'step':>12} {'slower':>9} {'peak memory':>12} {'first loss':>10} {'20th loss':>10} {'difference':>12}", flush=True)
    rows, environment = [], None
    for model in options.models:
        results = measure(model, options)
        environment = results["tessera"][0]["environment"]
        rows.append(row_of(model, results, options.precision))
        show(rows[-1])
        if options.out:
            settings = {key: getattr(options, key) for key in ("device", "size", "batch", "classes", "precision", "rounds", "steps", "warmup", "set")}
            options.out.write_text(json.dumps({"environment": environment, "settings": settings, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
