"""Training step of the demo U-Net beside PyTorch eager on the same cores, in one run: bench/cpu_step.py BUILD_DIR [OUT.json].

The two take turns, so that a noisy machine is noisy for both; the ratio is of the medians of all rounds. Both start from the same
weights and batch, and their losses must agree.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "peers"))
ROUNDS, STEPS, WARMUP = 5, 20, 5
LR = 0.004


def ours(program, precision, dump):
    out = subprocess.run([program, "bench", "step", ROOT.parent / "configs/demo.yaml", f"train.precision={precision}", "schedule.type=constant", "schedule.warmup=0ba",
                          "train.device=cpu", "--steps", str(STEPS), "--warmup", str(WARMUP), "--dump", dump], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def peer(precision, dump):
    code = f"import json, unet_step; print(json.dumps(unet_step.measure({str(dump)!r}, {precision!r}, {STEPS}, {WARMUP}, [{LR}] * {STEPS + WARMUP})))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "peers")})
    return json.loads(out.stdout)


def main(build, output=None):
    program = pathlib.Path(build) / "bin/tessera"
    rows, environment = [], {}
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "start.safetensors"
        for precision in ("fp32", "bf16"):
            times = {"tessera": [], "pytorch": []}
            for _ in range(ROUNDS):
                a = ours(program, precision, dump)
                b = peer(precision, dump)
                times["tessera"].append(a["ms_median"])
                times["pytorch"].append(b["ms_median"])
                environment = a["environment"]
            # bf16 rounds at 8 bits and the two sum in other orders; fp32 must agree closely.
            difference = max(abs(x - y) for x, y in zip(a["losses"][:10], b["losses"][:10]))
            rows.append({"precision": precision, "tessera_ms": statistics.median(times["tessera"]), "pytorch_ms": statistics.median(times["pytorch"]),
                         "loss_difference_10_steps": difference, "last_loss": [a["losses"][-1], b["losses"][-1]], "all_ms": times})
    print(f"{'':6} {'tessera':>10} {'pytorch':>10} {'speed-up':>9} {'max loss difference, 10 steps':>30}")
    for row in rows:
        row["speed_up"] = row["pytorch_ms"] / row["tessera_ms"]
        print(f"{row['precision']:6} {row['tessera_ms']:8.1f}ms {row['pytorch_ms']:8.1f}ms {row['speed_up']:8.2f}x {row['loss_difference_10_steps']:30.2e}")
    if output:
        pathlib.Path(output).write_text(json.dumps({"environment": environment, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
