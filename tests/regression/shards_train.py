"""Training from shards: three steps from a folder of images and masks, and from the MDS, TFRecord and tar shards that it was converted
to, end in the same weights, bit for bit; so does a run in blocks of shards that was stopped and went on."""
from support import TINY, Folder, check, final_hash, tessera, write_png

SAMPLES = 24


def make_pairs(root):
    for i in range(SAMPLES):
        write_png(root / f"images/s{i:03}.png", 48, 48, lambda y, x, i=i: ((y * 5 + i * 9) % 256, (x * 5) % 256, (y * x + i) % 256), channels=3)
        write_png(root / f"masks/s{i:03}.png", 48, 48, lambda y, x, i=i: 7 if x > 40 else int(x > 10 + i % 9) + int(y > 20))


def main():
    model = [option for option in TINY if not option.startswith(("data.type", "data.synthetic", "data.train.count", "data.val.count"))]
    model += ["train.duration=3ba", "eval.every=3ba", "checkpoint.every=1ba"]
    meaning = ["data.classes=[a, b, c]", "data.labels.ignore=[7]"]
    with Folder() as folder:
        make_pairs(folder / "pairs")
        tessera("train", *model, *meaning, f"data.path={folder}/pairs", f"run.dir={folder}/run-pairs")
        expected = final_hash(folder / "run-pairs")
        for kind, options in (("mds", ["--compression", "zstd", "--hash", "xxh64"]), ("tfrecord", []), ("tar", [])):
            out, _ = tessera("data", "convert", f"data.path={folder}/pairs", *meaning, "-o", folder / kind, "--format", kind,
                             "--shard-size", "10KB", *options)
            check("train with it" in out and f"data.type={kind}" in out, f"no command to go on with:\n{out}")
            tessera("train", *model, f"data.type={kind}", f"data.path={folder}/{kind}", f"run.dir={folder}/run-{kind}")
            found = final_hash(folder / f"run-{kind}")
            check(found == expected, f"{kind}: {found}, from files {expected}")
        blocks = [*model, "data.type=mds", f"data.path={folder}/mds", "data.records.shuffle_block=6", "train.duration=9ba"]
        tessera("train", *blocks, f"run.dir={folder}/run-whole")
        tessera("train", *blocks, f"run.dir={folder}/run-resumed")
        newest = sorted((folder / "run-resumed/checkpoints").glob("step-*"))
        for later in newest[-1:]:
            for file in later.iterdir():
                file.unlink()
            later.rmdir()
        tessera("train", *blocks, f"run.dir={folder}/run-resumed", "--resume")
        check(final_hash(folder / "run-whole") == final_hash(folder / "run-resumed"), "a run in blocks of shards differs when it goes on")
        check(final_hash(folder / "run-whole") != expected, "the order of blocks is not used")
        out, _ = tessera("data", "show", folder / "mds", "-n", "1")
        check("uid: s0" in out and "zstd" in out, f"unexpected: {out}")
        print("weights from files, MDS, TFRecord and tar are the same")


if __name__ == "__main__":
    main()
