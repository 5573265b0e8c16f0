"""Trainings on a GPU of which they may use less and less: smaller passes, then activation checkpointing, then an error that says what to
set; wherever a run ends well its losses are those of the run with all of the memory (float64, to 1e-9).

  python3 tests/gpu/limited_memory.py build/bin/tessera
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

OPTIONS = ["data.type=synthetic", "data.synthetic.kind=shapes", "data.synthetic.num_classes=4", "data.synthetic.size=256", "data.train.count=64",
           "data.val.count=0", "data.train.transforms=[{random_crop: {size: 256}}, flip]", "model.unet.channels=[32,64,128]", "train.batch_size=32",
           "train.precision=fp64", "train.duration=30ba", "run.log_every=1ba", "eval.every=0ba", "run.pictures=0", "run.tensorboard=false",
           "optimizer.type=adamw", "train.device=cuda"]


def losses(run):
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["type"] == "train"]


def train(program, run, unit, fraction):
    environment = dict(os.environ)
    if fraction < 1:
        environment["PYTORCH_CUDA_ALLOC_CONF"] = f"per_process_memory_fraction:{fraction}"
    return subprocess.run([program, "train", *OPTIONS, f"train.norm_group={unit}", f"run.dir={run}"], capture_output=True, text=True, timeout=600,
                          env=environment)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for unit in (4, 32):  # passes of one to eight units, and one unit that cannot be cut
            whole = pathlib.Path(folder) / f"whole-{unit}"
            done = train(program, whole, unit, 1)
            if done.returncode != 0:
                raise SystemExit(f"FAILED: {done.stderr}")
            expected, seen = losses(whole), set()
            for step in range(1, 13):
                fraction = 0.2 / 1.5**step
                run = pathlib.Path(folder) / f"unit-{unit}-{step}"
                done = train(program, run, unit, fraction)
                for words, name in (("going on with micro-batches", "passes"), ("activation checkpointing", "checkpointing")):
                    if words in done.stderr:
                        seen.add(name)
                if done.returncode != 0:
                    if done.returncode != 1 or "out of memory" not in done.stderr:
                        raise SystemExit(f"FAILED: unit {unit}, {fraction:.5f} of the memory: exit code {done.returncode}\n{done.stderr}")
                    print(f"unit {unit}: {fraction:.5f} of the memory is too little: {done.stderr.strip().splitlines()[-1][:200]}")
                    break
                worst = max(abs(a - b) / abs(a) for a, b in zip(expected, losses(run)))
                print(f"unit {unit}: {fraction:.5f} of the memory: largest relative difference of a loss {worst:.1e}, seen so far: {sorted(seen)}")
                if len(losses(run)) != len(expected) or worst > 1e-9:
                    raise SystemExit("FAILED: the losses differ")
            if not seen:
                raise SystemExit(f"FAILED: unit {unit}: memory never ran out where a run still ended well")


if __name__ == "__main__":
    main()
