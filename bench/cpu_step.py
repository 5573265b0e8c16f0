"""Training steps beside PyTorch eager and torch.compile on the same cores, in one run: bench/cpu_step.py BUILD_DIR [OUT.json].

The demo's U-Net and a small DeepLabV3+. The three are started once and take turns, so that a noisy machine is noisy for all; the ratio is of
the medians of all rounds. All start from the same weights and batch, and their losses must agree.
"""
import json
import pathlib
import statistics
import tempfile

from runs import ROOT, build_and_output, in_turns, ours_command, peer_command, require_agreement

ROUNDS, STEPS, WARMUP = 5, 15, 5
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


def measure(build, case, precision, dump):
    overrides = [*case["overrides"], f"train.precision={precision}", "train.device=cpu"]
    arguments = [*case["peer"], "--device", "cpu", "--precision", precision]
    return in_turns({"tessera": ours_command(build, case["config"], overrides, STEPS, WARMUP, dump),
                     **{kind: peer_command(dump, case["model"], arguments, kind == "compile", STEPS, WARMUP) for kind in ("eager", "compile")}}, ROUNDS)


def main(build, output=None):
    rows, environment = [], {}
    print(f"{'':20} {'tessera':>10} {'eager':>10} {'compile':>10} {'speed-up':>9} {'loss difference, 10 steps':>26}")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            for precision in ("fp32", "bf16"):
                results = measure(build, case, precision, pathlib.Path(folder) / "start.safetensors")
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
    if output:
        pathlib.Path(output).write_text(json.dumps({"environment": environment, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(*build_and_output(__doc__))
