"""kill -9 at random moments of `tessera data convert`, each followed by the same command: the files are, byte for byte, those of a
conversion that was left alone, and nothing else lies beside them. Another format per round; shards are small, so that kills come
between, in and after many of them."""
import random
import time

from support import Folder, check, start, tessera, write_png

SAMPLES, KILLS = 120, 5
FORMATS = [["--format", "mds", "--compression", "zstd:3", "--hash", "sha1,xxh64"], ["--format", "tar"], ["--format", "folder"]]


def make_pairs(root):
    for i in range(SAMPLES):
        def noise(y, x, i=i):
            return (i * 7919 + y * 104729 + x * 1299709 + y * x * 31) % 251

        write_png(root / f"images/s{i:03}.png", 40, 30, lambda y, x: (noise(y, x), noise(x, y), noise(y + 1, x)), channels=3)
        write_png(root / f"masks/s{i:03}.png", 40, 30, lambda y, x, i=i: int(x > 20 + i % 9))


def files_in(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def main():
    random.seed(11)
    with Folder() as folder:
        make_pairs(folder / "pairs")
        for number, options in enumerate(FORMATS):
            command = ["data", "convert", folder / "pairs", "data.classes=[background, thing]", "--shard-size", "12KB", "--workers", "2", *options]
            begin = time.monotonic()
            out, _ = tessera(*command, "-o", folder / f"whole{number}")
            seconds = time.monotonic() - begin
            check("read back and compared" in out, f"what was written is not said to be compared:\n{out}")
            expected = files_in(folder / f"whole{number}")
            target, kills, unfinished, tries = folder / f"killed{number}", 0, 0, 0
            while True:
                process = start(*map(str, command), "-o", str(target))
                if kills < KILLS and tries < 4 * KILLS:
                    tries += 1
                    time.sleep(random.uniform(0.0, seconds))
                    if process.poll() is None:
                        process.kill()
                        process.communicate()
                        kills += 1
                        unfinished += (target / ".tessera-convert.jsonl").exists()
                        continue
                _, errors = process.communicate()
                check(process.returncode == 0, f"{options}: the conversion that went on failed:\n{errors}")
                if kills >= KILLS or tries >= 4 * KILLS:
                    break
                target.rename(folder / f"done{number}-{kills}-{tries}")  # whole before all kills were spent: once more
            for done in [target, *folder.glob(f"done{number}-*")]:
                found = files_in(done)
                differing = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
                check(not differing, f"{options}: after {kills} kills these differ: {differing[:5]}")
            print(f"{' '.join(options)}: {len(expected)} files, {kills} kills, {unfinished} of them in the middle, bytes identical")
            check(unfinished >= 1, "no kill came in the middle")


if __name__ == "__main__":
    main()
