"""Training steps beside PyTorch eager and torch.compile on one GPU, in one run: bench/gpu_step.py BUILD_DIR [--out FILE].

Batch 16, 512x512, 150 classes, bf16 autocast, channels_last, fused SGD. Each of the three is started once and warmed up alone, then they
take turns for --rounds rounds; times are medians. All start from the weights and the batch that ours wrote, and the losses of the first 20 steps must agree. Needs no Python
package but torch. Smaller sizes and --device cpu are for trying the script out.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import tempfile

from runs import ROOT, in_turns, last_json, ours_command, peer_command, require_agreement

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


def commands(model, options, dump, steps, warmup):
    """What starts each of the three, by its kind."""
    overrides = [f"train.device={options.device}", f"train.precision={options.precision}", f"train.batch_size={options.batch}",
                 f"train.norm_group={options.batch}", f"data.synthetic.size={options.size}", f"data.synthetic.num_classes={options.classes}",
                 f"model.segmenter.image_size={options.size}", f"optimizer.lr={RATES.get(model, 0.01)}", *options.set]
    arguments = ["--device", options.device, "--precision", options.precision, "--lr", RATES.get(model, 0.01)]
    return {"tessera": ours_command(options.build, ROOT / f"configs/{model}.yaml", overrides, steps, warmup, dump, options.profile),
            **{kind: peer_command(dump, model, arguments, kind == "compile", steps, warmup, options.profile)
               for kind in KINDS[1:] if kind in options.kinds}}


def fill_compiler_cache(options):
    """torch.compile keeps what it compiled on disk. All models are compiled side by side before anything is measured; what is measured is
    then compiled in seconds, to the same code."""
    def compile_one(model):
        with tempfile.TemporaryDirectory() as folder:
            found = commands(model, options, pathlib.Path(folder) / "start.safetensors", 1, 0)
            for kind in ("tessera", "compile"):
                last_json(found[kind])

    if "compile" in options.kinds:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(compile_one, options.models))


def measure(model, options):
    with tempfile.TemporaryDirectory() as folder:
        return in_turns(commands(model, options, pathlib.Path(folder) / "start.safetensors", options.steps, options.warmup), options.rounds)


def row_of(model, results, precision):
    row = {"model": model}
    for kind, found in results.items():
        row[kind] = {"ms": statistics.median(found["ms_of_turns"]), "all_ms": found["ms_of_turns"], "peak_memory_bytes": found.get("peak_memory_bytes"),
                     "parameters": found["parameters"], "losses": found["losses"][:20],
                     **{key: found[key] for key in ("profile", "least") if found.get(key)}}
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
    fill_compiler_cache(options)
    rows, environment = [], None
    for model in options.models:
        results = measure(model, options)
        environment = results["tessera"]["environment"]
        rows.append(row_of(model, results, options.precision))
        show(rows[-1])
        if options.out:
            settings = {key: getattr(options, key) for key in ("device", "size", "batch", "classes", "precision", "rounds", "steps", "warmup", "set")}
            options.out.write_text(json.dumps({"environment": environment, "settings": settings, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
