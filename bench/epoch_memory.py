"""Memory of an epoch of a million samples: bench/epoch_memory.py BUILD_DIR [--samples 1000000] [--out FILE], with the Python of
scripts/interop-venv.

mosaicml-streaming writes the samples, small PNG images and masks, into MDS shards; then `tessera bench data` loads each of them about once, while
its memory is looked at. What a process keeps itself (anonymous memory) should be the same in the second tenth of the epoch and in the last; pages
of mapped shards are the system's, which takes them back when it needs them, and are given beside.
"""
import argparse
import io
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
from PIL import Image
from streaming import MDSWriter

from runs import program

SIZE, KINDS = 24, 16


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def write_shards(folder, samples):
    rows = np.arange(SIZE * SIZE * 3, dtype=np.int64).reshape(SIZE, SIZE, 3)
    images = [png((rows * (kind + 1) % 251).astype(np.uint8)) for kind in range(KINDS)]
    masks = [png((rows[:, :, 0] // (40 + kind) % 2).astype(np.uint8)) for kind in range(KINDS)]
    with MDSWriter(out=str(folder / "train"), columns={"x": "bytes", "y": "bytes", "uid": "str"}, size_limit=1 << 26) as shards:
        for i in range(samples):
            shards.write({"x": images[i % KINDS], "y": masks[i % KINDS], "uid": str(i)})


def memory_of(process):
    """Megabytes of anonymous memory and of mapped files; nothing when it has ended."""
    try:
        lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return None
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Rss")}
    return (kilobytes["RssAnon"] / 1e3, kilobytes["RssFile"] / 1e3) if kilobytes else None


def watched(command):
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, env={**os.environ, "OMP_NUM_THREADS": "1"})
        seen = []
        while process.poll() is None:
            if memory := memory_of(process):
                seen.append(memory)
            time.sleep(0.2)
        if process.returncode != 0:
            raise SystemExit(f"{command} failed")
        output.seek(0)
        return seen, json.load(output)


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_shards(folder, options.samples)
        seen, measured = watched([program(options.build), "bench", "data", "data.type=mds", f"data.path={folder}", "data.classes=[a, b]", "data.val_share=0",
                                  "data.train.transforms=[flip]", "train.batch_size=64", f"data.threads={options.threads}", "--images", options.samples, "--json"])
    tenth = max(1, len(seen) // 10)
    anonymous, files = zip(*seen)
    result = {"samples": options.samples, "images": measured["images"], "images_per_s": measured["images_per_s"], "looks": len(seen),
              "second_tenth_mb": statistics.median(anonymous[tenth:2 * tenth] or anonymous), "last_tenth_mb": statistics.median(anonymous[-tenth:]),
              "most_mb": max(anonymous), "most_of_files_mb": max(files), "environment": measured["environment"]}
    print(f"{result['images']} images, {result['images_per_s']:.0f} a second; anonymous memory {result['second_tenth_mb']:.1f} MB in the second tenth of the epoch, "
          f"{result['last_tenth_mb']:.1f} MB in the last, {result['most_mb']:.1f} MB at most; pages of mapped shards {result['most_of_files_mb']:.0f} MB at most")
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
