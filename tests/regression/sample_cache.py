"""data.cache=encoded and decoded: training ends with the same weights, bit for bit, as without a cache: when it is filled, when it is
read, when two runs share it, after a run was killed with SIGKILL, after its files were damaged, when it is full. It never exceeds its
limit and leaves nothing in /dev/shm."""
import os
import pathlib
import random
import signal
import subprocess
import time

from support import TINY, Folder, check, final_hash, program, tessera, write_png

OPTIONS = [option for option in TINY if not option.startswith("data.")] + [
    "data.classes=[ground, thing]", "data.labels.binary=true", "data.val_share=0.2",
    "data.train.transforms=[{random_crop: {size: 32}}, flip, photometric]", "train.duration=12ba", "checkpoint.every=6ba", "eval.every=6ba"]


def make_data(folder):
    draw = random.Random(5)
    for i in range(30):
        size = 40 + i % 5
        write_png(folder / f"images/{i}.png", size, size, lambda y, x: (draw.randrange(256), 8 * y % 256, 8 * x % 256), channels=3)
        write_png(folder / f"masks/{i}.png", size, size, lambda y, x: 255 if (x + y + i) % 7 < 3 else 0)


def arguments(folder, name, *more):
    return ["train", *OPTIONS, f"data.path={folder}/data", f"data.cache_dir={folder}/cache", f"run.dir={folder}/runs/{name}", *more]


def train(folder, name, *more):
    _, errors = tessera(*arguments(folder, name, *more))
    return final_hash(folder / "runs" / name), errors


def size_of(folder):
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def main(folder):
    shared_memory = set(os.listdir("/dev/shm"))
    make_data(folder / "data")
    plain, _ = train(folder, "plain")
    check(not (folder / "cache").exists(), "a cache was made without being asked for")

    for kind in ("encoded", "decoded"):
        cached = [f"data.cache={kind}", "data.cache_limit=64MB"]
        filled, errors = train(folder, f"{kind}-filled", *cached)
        check(f"data.cache={kind}" in errors and filled == plain, errors)
        kept = size_of(folder / "cache")
        check(kept > 0, "nothing was kept")
        check(train(folder, f"{kind}-read", *cached)[0] == plain, "another result from the cache")
        check(size_of(folder / "cache") <= kept + 4096, "what was there was kept again")
        print(f"{kind}: ok, {kept} bytes", flush=True)

    cached = ["data.cache=decoded", "data.cache_limit=64MB"]
    for path in (folder / "cache").glob("*.samples"):  # a byte of each entry or so
        content = bytearray(path.read_bytes())
        content[100::5000] = bytes(b ^ 1 for b in content[100::5000])
        path.write_bytes(content)
    result, errors = train(folder, "damaged", *cached)
    check(result == plain and "damaged entries" in errors, errors)
    print("damaged: ok", flush=True)

    subprocess.run(["rm", "-r", folder / "cache"], check=True)
    for round in range(4):
        process = subprocess.Popen([program(), *arguments(folder, f"killed-{round}", *cached)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while size_of(folder / "cache") < 20_000 * (round + 1) if (folder / "cache").exists() else True:
            if process.poll() is not None or time.monotonic() > end:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    result, errors = train(folder, "after-kills", *cached)
    check(result == plain and "damaged" not in errors, errors)
    print("killed: ok", flush=True)

    subprocess.run(["rm", "-r", folder / "cache"], check=True)
    processes = [subprocess.Popen([program(), *arguments(folder, f"at-once-{i}", *cached)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True) for i in range(2)]
    errors = [p.communicate(timeout=300)[1] for p in processes]
    check([p.returncode for p in processes] == [0, 0], errors)
    check(all(final_hash(folder / f"runs/at-once-{i}") == plain for i in range(2)), "two at once ended otherwise")
    print("two at once: ok", flush=True)

    subprocess.run(["rm", "-r", folder / "cache"], check=True)
    small = ["data.cache=decoded", "data.cache_limit=1MB"]
    check(train(folder, "small", *small)[0] == plain, "a small cache ended otherwise")
    check(size_of(folder / "cache") <= 1_100_000, f"{size_of(folder / 'cache')} bytes in a cache of 1 MB")
    _, errors = tessera(*arguments(folder, "bad", "data.cache=decoded", "data.cache_limit=much"), expect=2)
    check("data.cache_limit=much: expected a number of bytes" in errors, errors)
    left = set(os.listdir("/dev/shm")) - shared_memory
    check(not any("tessera" in name for name in left), f"left in /dev/shm: {left}")
    print("bounded: ok", flush=True)


if __name__ == "__main__":
    with Folder() as temporary:
        main(pathlib.Path(temporary))
