"""What the regression tests share: running the program, hashing weights, making images with the standard library alone."""
import array
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

TINY = [
    "data.type=synthetic", "data.synthetic.kind=shapes", "data.synthetic.num_classes=4", "data.synthetic.size=48",
    "data.train.count=24", "data.val.count=4", "data.train.transforms=[{random_crop: {size: 32}}, flip, photometric]",
    "model.unet.channels=[4,8]", "model.unet.dropout=0.2", "train.batch_size=8", "train.norm_group=4", "train.seed=3",
    "optimizer.type=adamw", "optimizer.lr=0.01", "run.log_every=5ba", "run.pictures=0",
]


def program():
    return sys.argv[1]


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAILED: {message}")


def tessera(*arguments, expect=0, stdin=None, env=None):
    """Runs to the end; returns (stdout, stderr). `expect` is the exit code."""
    done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, errors="surrogateescape", input=stdin,
                          timeout=300, env={**os.environ, **(env or {})})
    check(done.returncode == expect, f"tessera {' '.join(map(str, arguments))}\nexit code {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def start(*arguments):
    return subprocess.Popen([program(), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def checkpoints(run):
    """The complete checkpoints of a run, oldest first."""
    folders = sorted(p for p in (pathlib.Path(run) / "checkpoints").glob("step-*") if (p / "DONE").exists())
    check(folders, f"no complete checkpoint in {run}")
    return folders


def final_hash(run):
    """Hash of the newest checkpoint's weights, optimizer state and moving average."""
    newest = checkpoints(run)[-1]
    digest = hashlib.sha256()
    for name in ("model.safetensors", "optimizer.safetensors", *(p.name for p in newest.glob("ema.safetensors"))):
        digest.update((newest / name).read_bytes())
    return newest.name, digest.hexdigest()


def read_doubles(path):
    """The tensors of a float64 safetensors file, by name."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        check(entry["dtype"] == "F64", f"{path}: {name} is {entry['dtype']}, not float64")
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = array.array("d", data[begin:end])
    return tensors


def weights_differ(one, other, file="model.safetensors"):
    """Largest difference of two float64 checkpoints' weights, relative to the largest weight; they must be of one step and model."""
    check(one.name == other.name, f"checkpoints of different steps: {one} and {other}")
    a, b = (read_doubles(folder / file) for folder in (one, other))
    check(a.keys() == b.keys(), f"{one} and {other} hold different weights")
    largest = max(abs(value) for values in a.values() for value in values)
    return max(abs(x - y) for name in a for x, y in zip(a[name], b[name])) / largest


def log_lines(run):
    return [json.loads(line) for line in (pathlib.Path(run) / "log.jsonl").read_text().splitlines() if line.strip()]


class Folder:
    """A temporary folder that goes when the test ends."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="tessera-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def write_png(path, width, height, pixel, channels=1, bits=8):
    """Grey (1) or RGB (3) of 8 or 16 bits; pixel(y, x) gives the value or the triple."""
    rows = b"".join(b"\0" + b"".join(v.to_bytes(bits // 8, "big") for x in range(width) for v in ([pixel(y, x)] if channels == 1 else pixel(y, x)))
                    for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, bits, 0 if channels == 1 else 2, 0, 0, 0)
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
