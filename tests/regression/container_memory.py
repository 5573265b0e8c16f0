"""A training in a control group, as a container is one: its data, decoded and cached, 64 batches to be made ahead and its evaluation of large images want
more than the group has. It ends well, the system kills nothing, and its weights are those of a run without a limit. Skipped where no group can be made."""
import os
import shutil
import struct
import subprocess
import sys
import zlib

from control_group import control_group
from support import Folder, check, checkpoints, log_lines, program, weights_differ

SIDE, COUNT, LIMIT = 1100, 28, 640 << 20


def write_striped(path, channels, seed):
    """A square picture of stripes, made without a loop over its pixels."""
    row = bytes((x // 64 * 40 + 30 * seed) % 256 if channels == 3 else (x // 64 + seed) % 2 for x in range(SIDE) for _ in range(channels))
    rows = b"".join(b"\0" + row[64 * channels * (y // 100 % 2):] + row[:64 * channels * (y // 100 % 2)] for y in range(SIDE))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0 if channels == 1 else 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def train(folder, name, group):
    """Returns what the run said."""
    options = [f"data.path={folder}/data", "data.labels.binary=false", "data.classes=[a,b]", "data.val.list=val.txt", "data.cache=decoded",
               f"data.cache_dir={folder}/cache-{name}", "data.prefetch=64", "data.threads=4", "data.train.transforms=[{random_crop: {size: 256}}, flip]",
               "model.unet.channels=[4,8]", "train.batch_size=16", "train.norm_group=4", "train.precision=fp64", "train.duration=3ba", "eval.every=3ba",
               "eval.batch_size=2", "eval.window.size=0", "checkpoint.every=3ba", "optimizer.eps=1e-4", "run.pictures=0", f"run.dir={folder}/{name}"]
    done = subprocess.run([program(), "train", *options], capture_output=True, text=True, timeout=600, preexec_fn=group.enter,
                          env={**os.environ, "OMP_NUM_THREADS": "2"})
    check(done.returncode == 0 and group.kills() == 0, f"{name}: exit code {done.returncode}, {group.kills()} killed\n{done.stderr}")
    check("frame #" not in done.stderr and "bad_alloc" not in done.stderr, done.stderr)
    return done.stderr


def main():
    with Folder() as folder:
        for i in range(COUNT):
            for kind, channels in (("images", 3), ("masks", 1)):
                if i < 4:
                    write_striped(folder / f"data/{kind}/{i:02}.png", channels, i)
                else:
                    shutil.copy(folder / f"data/{kind}/{i % 4:02}.png", folder / f"data/{kind}/{i:02}.png")
        (folder / "data/val.txt").write_text("".join(f"{i:02}\n" for i in range(COUNT - 2, COUNT)))
        try:
            with control_group() as group:
                train(folder, "free", group)
                free = group.peak()
        except OSError as error:
            print(f"skipped: {error}")
            sys.exit(77)
        check(free > LIMIT, f"the run takes only {free / 1e6:.0f} MB where it may")
        with control_group(LIMIT) as group:
            errors = train(folder, "limited", group)
            print(f"{free / 1e6:.0f} MB without a limit; within {LIMIT / 1e6:.0f} MB:")
            print("".join(f"  {line}\n" for line in errors.splitlines() if "out of memory" in line or "data.prefetch" in line), end="")
        check("data.prefetch=64: no more than 1" in errors, errors)  # ten and some of 5.2 MB are an eighth of it
        difference = weights_differ(checkpoints(folder / "free")[-1], checkpoints(folder / "limited")[-1])
        check(difference < 1e-9, f"weights differ by {difference}")
        check([line["step"] for line in log_lines(folder / "limited") if line["type"] == "eval"] == [3], "not evaluated")
        print(f"weights within {difference:.1e}")


if __name__ == "__main__":
    main()
