"""Training steps beside PyTorch eager and torch.compile on the same cores, in one run: bench/cpu_step.py BUILD_DIR [OUT.json]
[--cases unet deeplabv3plus] [--precisions fp32 bf16] [--rounds N].

The demo's U-Net and a small DeepLabV3+. The three are started once and take turns, so that a noisy machine is noisy for all; the ratio is of
the medians of all rounds. All start from the same weights and batch, and their losses must agree.
"""
import argparse
import json
import pathlib
import statistics
import tempfile

from runs import ROOT, in_turns, ours_command, peer_command, require_agreement

STEPS, WARMUP = 15, 5
CASES = {
    "unet": {
        "model": "unet",
        "config": ROOT.parent / "configs/demo.yaml",
        "overrides": ["schedule.type=constant", "schedule.warmup=0ba"],
        "peer": ["--loss", "ce_dice", "--optimizer", "adamw", "--lr", "0.004", "--weight-decay", "0.01", "--normalize", "per_image"],
    },
    "deeplabv3plus": {
        "model": "deeplabv3plus",
        "config": ROOT / "configs/deeplabv3plus.yaml",
        "overrides": ["model.deeplabv3plus.channels=128", "data.synthetic.size=128", "train.batch_size=4", "train.norm_group=4"],
        "peer": [],
    },
}


def measure(options, case, precision, dump):
    overrides = [*case["overrides"], f"train.precision={precision}", "train.device=cpu"]
    arguments = [*case["peer"], "--device", "cpu", "--precision", precision]
    return in_turns({"tessera": ours_command(options.build, case["config"], overrides, STEPS, WARMUP, dump),
                     **{kind: peer_command(dump, case["model"], arguments, kind == "compile", STEPS, WARMUP) for kind in ("eager", "compile")}},
                    options.rounds)


def main(options):
    rows, environment = [], {}
    print(f"{'':20} {'tessera':>10} {'eager':>10} {'compile':>10} {'speed-up':>9} {'loss difference, 10 steps':>26}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases:
            for precision in options.precisions:
                results = measure(options, CASES[name], precision, pathlib.Path(folder) / "start.safetensors")
                environment = results["tessera"]["environment"]
                ms = {kind: statistics.median(found["ms_of_turns"]) for kind, found in results.items()}
                losses = {kind: found["losses"][:10] for kind, found in results.items()}
                row = {"case": name, "precision": precision, "ms": ms, "speed_up": min(ms["eager"], ms["compile"]) / ms["tessera"],
                       "loss_difference": max(require_agreement(f"{name}, {precision}, {kind}", losses["tessera"], losses[kind], precision)
                                              for kind in ("eager", "compile")),
                       "all_ms": {kind: found["ms_of_turns"] for kind, found in results.items()}}
                rows.append(row)
                times = " ".join(f"{ms[kind]:8.1f}ms" for kind in ("tessera", "eager", "compile"))
                print(f"{name:14} {precision:5} {times} {row['speed_up']:8.2f}x {row['loss_difference']:26.1e}", flush=True)
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps({"environment": environment, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build folder")
    parser.add_argument("output", nargs="?", help="JSON file for everything measured")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args())
