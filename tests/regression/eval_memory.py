"""Too little memory for a large image in evaluation, predict and the report: it is computed in windows, said so with the key to set, and nothing
is lost. No C++ stack is shown."""
import json
import resource
import struct
import subprocess
import zlib

from support import Folder, check, checkpoints, log_lines, program, write_png

LARGE = 5000
LIMIT = 2 << 30  # bytes of address space, libraries included


def write_large(path, channels):
    """A square picture of stripes, made without a loop over its pixels."""
    row = b"\0" + bytes((x // 64 * 40) % 256 if channels == 3 else x // 64 % 2 for x in range(LARGE) for _ in range(channels))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", LARGE, LARGE, 8, 0 if channels == 1 else 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * LARGE, 1)) + chunk(b"IEND", b""))


def limited(*arguments):
    done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, timeout=600,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)))
    check(done.returncode == 0, f"tessera {' '.join(map(str, arguments))}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    check("frame #" not in done.stderr and "bad_alloc" not in done.stderr, done.stderr)
    return done.stdout, done.stderr


def main():
    with Folder() as folder:
        data = folder / "data"
        for i in range(4):
            write_png(data / "images" / f"{i}.png", 32, 32, lambda y, x: [(x * 8) % 256, (y * 8) % 256, 60 * i], channels=3)
            write_png(data / "masks" / f"{i}.png", 32, 32, lambda y, x: int(x > y))
        write_large(data / "images/large.png", 3)
        write_large(data / "masks/large.png", 1)
        (data / "val.txt").write_text("large\n")
        run = folder / "run"
        options = ["data.type=pairs", f"data.path={data}", "data.classes=[a,b]", "data.val.list=val.txt", "data.train.transforms=[]",
                   "model.unet.channels=[4,8]", "train.batch_size=2", "train.norm_group=2", "train.duration=4ba", "eval.every=2ba",
                   "checkpoint.every=2ba", "eval.window.size=0", "data.threads=1", "run.pictures=1", f"run.dir={run}"]
        _, errors = limited("train", *options)
        check("out of memory" in errors and "eval.window.size" in errors, f"nothing was said about windows:\n{errors}")
        check([path.name for path in checkpoints(run)] == ["step-00000002", "step-00000004"], "checkpoints are missing")
        evaluations = [line for line in log_lines(run) if line["type"] == "eval"]
        said = [line.get("windows_for_memory", "") for line in evaluations]
        check(len(said) == 2 and all(text.startswith(f"images of {LARGE} x {LARGE} pixels") for text in said), f"evaluations: {said}")
        check((run / "report.html").exists() and list((run / "predictions").glob("*.png")), f"no report or no pictures:\n{errors}")
        print(f"evaluation and report: {said[0]}")

        out, errors = limited("eval", "-w", run, "--json")
        check(json.loads(out)["windows_for_memory"].startswith("images of"), out)
        _, errors = limited("predict", "-w", run, data / "images/large.png", "-o", folder / "predicted")
        check("eval.window.size" in errors and (folder / "predicted/large.png").exists(), errors)
        print("eval and predict: in windows too")


if __name__ == "__main__":
    main()
