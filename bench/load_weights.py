"""Loading a 400 MB checkpoint beside read(), torch.load and safetensors, in one run: bench/load_weights.py BUILD_DIR [OUT.json].

Everybody takes turns, so that a noisy machine is noisy for all; numbers are medians of all rounds. Loading means: from the file into
the tensors of a model that exists, so the ratio is to read() into memory that is already there; read() into fresh memory, as a program
that reads a file does, stands beside it. Cold: the file is sent out of the system's cache before each.
"""
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
from safetensors.torch import load_file, save_file

from runs import build_and_output

ROUNDS = 9
SHAPES = [(1024, 1024), (3072, 1024), (1024,), (4096, 1024), (1024, 512, 3, 3)]


def make_state():
    """400 MB of tensors as large models have them."""
    state, size = {}, 0
    while size < 400e6:
        for i, shape in enumerate(SHAPES):
            state[f"blocks.{len(state)}.{i}.weight"] = torch.randn(shape)
            size += state[next(reversed(state))].nbytes
    return state


def forget(path):
    with open(path, "rb") as file:
        os.fdatasync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def into(model, state):
    with torch.no_grad():
        for key, value in state.items():
            model[key].copy_(value)


PEERS = {"pth": {"torch.load": lambda f, m: into(m, torch.load(f, weights_only=True)),
                 "torch.load(mmap=True)": lambda f, m: into(m, torch.load(f, weights_only=True, mmap=True))},
         "safetensors": {"safetensors.load_file": lambda f, m: into(m, load_file(f))}}


def measure(program, file, model, cold):
    times = {}
    for _ in range(ROUNDS):
        out = subprocess.run([program, "bench", "load", file, "--rounds", "1", *(["--cold"] if cold else [])], check=True, capture_output=True, text=True)
        ours = json.loads(out.stdout)
        for name, key in (("read()", "read_into_used_memory_ms"), ("read() into fresh memory", "read_ms"), ("tessera", "load_ms")):
            times.setdefault(name, []).append(ours[key][0])
        for name, load in PEERS[file.suffix[1:]].items():
            if cold:
                forget(file)
            begin = time.perf_counter()
            load(file, model)
            times.setdefault(name, []).append(1e3 * (time.perf_counter() - begin))
    return times, ours["environment"]


def main(build, output=None):
    program = pathlib.Path(build) / "bin/tessera"
    torch.set_num_threads(os.cpu_count())
    rows = []
    with tempfile.TemporaryDirectory(dir=build) as folder:  # not /tmp, which may be memory
        model = make_state()
        for suffix in ("pth", "safetensors"):
            file = pathlib.Path(folder) / f"weights.{suffix}"
            torch.save(model, file) if suffix == "pth" else save_file(model, file)
            for cold in (False, True):
                times, environment = measure(program, file, model, cold)
                medians = {name: statistics.median(values) for name, values in times.items()}
                ratio = medians["tessera"] / medians["read()"]
                rows.append({"file": suffix, "cold": cold, "bytes": file.stat().st_size, "ms": medians, "tessera_over_read": ratio, "all_ms": times})
                print(f".{suffix}, {'cold' if cold else 'warm'}: " + ", ".join(f"{n} {v:.0f} ms" for n, v in medians.items()) + f"; tessera / read() = {ratio:.2f}", flush=True)
            file.unlink()
    if output:
        pathlib.Path(output).write_text(json.dumps({"environment": environment, "rounds": ROUNDS, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(*build_and_output(__doc__))
