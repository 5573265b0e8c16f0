"""Memory of `tessera predict` against the size of an image: bench/predict_memory.py BUILD_DIR [--out FILE] [--before PROGRAM].

A small U-Net is trained a few steps on synthetic cells, then square images are predicted, each in a process of its own whose peak
(resident set) is read from the system. What a process needs for an image of 64 x 64 pixels, libraries and weights, is measured too. Modes: `auto` as
it comes, `whole` with eval.window.size=0 (sizes up to --whole), `before` with another build's program and the windows that auto chose. Needs no
package; disk and memory for the largest image (20,000 x 20,000: 1.2 GB in memory). `bench/chart.py memory FILE OUT.svg` draws it.
"""
import argparse
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time
import zlib

from runs import program

CROP = 256
MODEL = ["data.type=synthetic", "data.synthetic.kind=cells", "data.synthetic.size=320", "data.train.count=32", "data.val.count=2",
         f"data.train.transforms=[{{random_crop: {{size: {CROP}}}}}, flip]", "train.batch_size=4", "train.duration=40ba", "eval.every=40ba",
         "checkpoint.every=40ba", "run.pictures=0"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--sides", nargs="+", type=int, default=[2048, 4096, 8192, 16384, 20000])
    parser.add_argument("--whole", type=int, default=4096, help="largest side that is also predicted as a whole")
    parser.add_argument("--channels", nargs="+", default=["8", "16", "32"], help="of the U-Net's heights")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--before", help="an older program")
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def write_image(path, side):
    """An RGB picture of soft blobs, row by row; many rows are alike, so that it is made quickly and packs well."""
    compress = zlib.compressobj(1)
    rows = []
    for y in range(64):
        row = bytearray(3 * side)
        for x in range(side):
            row[3 * x:3 * x + 3] = bytes([30 + (x * 7 + y * 13) % 32, 30 + 150 * ((x // 32 + y // 32) % 2), 60])
        rows.append(b"\0" + bytes(row))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)))
        for y in range(side):
            packed = compress.compress(rows[y % 64])
            if packed:
                file.write(chunk(b"IDAT", packed))
        file.write(chunk(b"IDAT", compress.flush()) + chunk(b"IEND", b""))


def measured(command):
    """Peak resident bytes and seconds of a command."""
    begin = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{errors[-4000:]}")
    return usage.ru_maxrss * 1024, time.monotonic() - begin


def main():
    options = parse()
    tessera = program(options.build)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([tessera, "train", *MODEL, f"model.unet.channels=[{','.join(options.channels)}]", f"train.threads={options.threads}",
                        f"run.dir={folder / 'run'}"], check=True, capture_output=True)
        version = subprocess.run([tessera, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
        environment = {"program": version, "cpu": cpu, "cores": os.cpu_count()}
        rows = []

        def predict(mode, side, image):
            overrides = {"auto": [], "whole": ["eval.window.size=0"], "before": [f"eval.window.size={CROP}"] if side > 2048 else []}[mode]
            sets = [word for text in (f"train.threads={options.threads}", f"data.max_pixels={side * side}", *overrides) for word in ("--set", text)]
            peak, seconds = measured([options.before if mode == "before" else tessera, "predict", "-w", folder / "run", image, "-o", folder / "out", *sets])
            rows.append({"mode": mode, "side": side, "image_bytes": 3 * side * side, "peak_bytes": peak, "seconds": seconds})
            print(f"{side:6} {mode:7} image {3 * side * side / 1e9:6.2f} GB  peak {peak / 1e9:6.2f} GB  beside it {(peak - 3 * side * side) / 1e9:6.2f} GB "
                  f"{seconds:7.1f} s", flush=True)

        for side in [64, *options.sides]:
            image = folder / f"{side}.png"
            write_image(image, side)
            predict("auto", side, image)
            if 64 < side <= options.whole:
                predict("whole", side, image)
            if side > 64 and options.before:
                predict("before", side, image)
            image.unlink()
            if options.out:
                settings = {key: getattr(options, key) for key in ("channels", "threads")} | {"crop": CROP}
                options.out.write_text(json.dumps({"environment": environment, "settings": settings, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
