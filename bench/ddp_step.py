"""Training step on two CPU ranks beside PyTorch's DistributedDataParallel, in one run: bench/ddp_step.py BUILD_DIR [OUT.json].

A U-Net of 4.1 M parameters, cross entropy, batch 8, one thread and half the batch per rank, gradients over Gloo on loopback. The two take
turns; both start from the same weights and batch, and their losses must agree. Bytes on the loopback device are counted too and compared
with the theory (each of n ranks sends 2 (n - 1) / n times its gradients): nothing else should use it, e.g. unshare -n.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from runs import build_and_output, program as program_of, require_agreement

ROOT = pathlib.Path(__file__).resolve().parent
ROUNDS, STEPS, WARMUP, RANKS, PORT = 5, 10, 3, 2, 29511
CONFIG = ["model.unet.channels=[32,64,128,256]", "train.batch_size=8", "train.norm_group=4", "loss.type=ce", "schedule.type=constant",
          "schedule.warmup=0ba", "train.device=cpu"]


def wire_bytes():
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[8])
    return 0


def ours(program, dump, *options, steps=STEPS):
    out = subprocess.run([program, "bench", "step", ROOT.parent / "configs/demo.yaml", *CONFIG, *options, "-p", "ddp", "--ranks", str(RANKS), "--steps", str(steps),
                          "--warmup", str(WARMUP), "--dump", dump], check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return json.loads(out.stdout)


def peer(dump):
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": PORT, "OMP_NUM_THREADS": 1,
                     "GLOO_SOCKET_IFNAME": "lo"}
        ranks.append(subprocess.Popen([sys.executable, ROOT / "peers/unet_ddp.py", dump, str(STEPS), str(WARMUP)], stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, **{name: str(value) for name, value in variables.items()}}))
    outputs = [process.communicate()[0] for process in ranks]
    assert all(process.returncode == 0 for process in ranks), outputs
    return json.loads(outputs[0])


def bytes_per_step(program, dump, *options):
    """From two runs of different length, so that starting costs nothing."""
    counts = []
    for steps in (2, 12):
        before = wire_bytes()
        result = ours(program, dump, *options, steps=steps)
        counts.append(wire_bytes() - before)
    theory = RANKS * 2 * (RANKS - 1) / RANKS * result["exchange"]["gradient_bytes"]
    return {"measured": (counts[1] - counts[0]) / 10, "theory": theory}


def main(build, output=None):
    program = program_of(build)
    rounds = {"tessera": [], "pytorch": []}
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "start.safetensors"
        for _ in range(ROUNDS):
            a = ours(program, dump)
            b = peer(dump)
            rounds["tessera"].append(a["ms_median"])
            rounds["pytorch"].append(b["ms_median"])
        wire = {"none": bytes_per_step(program, dump), "bf16": bytes_per_step(program, dump, "dist.compression=bf16")}
    result = {"environment": a["environment"], "parameters": a["parameters"], "tessera_ms": statistics.median(rounds["tessera"]),
              "pytorch_ms": statistics.median(rounds["pytorch"]), "rounds": rounds, "exchange": a["exchange"], "wire_bytes_per_step": wire,
              "loss_difference": require_agreement("two ranks", a["losses"], b["losses"], "fp32")}
    result["speed_up"] = result["pytorch_ms"] / result["tessera_ms"]
    ratios = [p / t for t, p in zip(rounds["tessera"], rounds["pytorch"])]
    print(f"tessera {result['tessera_ms']:.1f} ms, PyTorch DDP {result['pytorch_ms']:.1f} ms: {result['speed_up']:.2f}x (rounds {min(ratios):.2f}-{max(ratios):.2f})")
    print(f"exchange {a['exchange']['exchange_ms']:.1f} ms, {100 * a['exchange']['hidden_share']:.0f} % of it hidden behind the backward pass")
    for name, counted in wire.items():
        print(f"bytes on the wire per step, compression {name}: {counted['measured']:.0f}, theory {counted['theory']:.0f} ({counted['measured'] / counted['theory'] - 1:+.1%})")
    print(f"largest difference of losses, as a share of the first: {result['loss_difference']:.1e}")
    if output:
        pathlib.Path(output).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(*build_and_output(__doc__))
