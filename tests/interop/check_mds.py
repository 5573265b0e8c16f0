"""What data_files_test left (ConvertInterop): MDS folders of ours, read by mosaicml-streaming's StreamingDataset and compared with the
files that went in. Usage: check_mds.py FOLDER, which holds source/ and the converted folders. Every hash of every file is computed
anew; the reader itself checks some of them in each folder, all in all of them (each reader leaves shared memory open)."""
import json
import pathlib
import sys

from PIL import Image, ImageChops
from streaming import StreamingDataset
from streaming.base.compression import decompress
from streaming.base.hashing import get_hash
from streaming.base.util import clean_stale_shared_memory


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAILED: {message}")


def same(image, file):
    expected = Image.open(file)
    return image.size == expected.size and image.mode == expected.mode and ImageChops.difference(image, expected).getbbox() is None


def check_files(folder):
    for shard in json.loads((folder / "index.json").read_text())["shards"]:
        stored = shard["zip_data"] or shard["raw_data"]
        data = (folder / stored["basename"]).read_bytes()
        check(len(data) == stored["bytes"] and sorted(stored["hashes"]) == shard["hashes"], f"{folder}: {stored['basename']} is not as its index says")
        raw = decompress(shard["compression"], data)
        for info, content in ((stored, data), (shard["raw_data"], raw)):
            for name, value in info["hashes"].items():
                check(get_hash(name, content) == value, f"{folder}: {name} of {info['basename']}")


def check_split(folder, source, some):
    check_files(folder)
    hashes = json.loads((folder / "index.json").read_text())["shards"][0]["hashes"][some]
    names = set()
    for validate in [None, *hashes]:
        clean_stale_shared_memory()
        dataset = StreamingDataset(local=str(folder), shuffle=False, batch_size=1, validate_hash=validate, keep_zip=True)
        for i in range(len(dataset)):
            sample = dataset[i]
            check(list(sample) == ["uid", "x", "y"], f"{folder}: columns {list(sample)}")
            stem = sample["uid"].decode()
            names.add(stem)
            for column, kind in (("x", "images"), ("y", "masks")):
                check(same(sample[column], source / kind / f"{stem}.png"), f"{folder}: {column} of {stem} differs")
        del dataset
        for raw in folder.glob("shard.*.mds"):
            if (folder / "index.json").exists() and list(folder.glob(raw.name + ".*")):
                raw.unlink()  # unpacked by the reader; unpacked and checked again with the next hash
    return names, hashes


def main(root):
    root = pathlib.Path(root)
    stems = {path.stem for path in (root / "source/images").iterdir()}
    folders = sorted(path for path in root.iterdir() if path.name != "source")
    check(len(folders) >= 6, f"expected folders of all compressions, found {[f.name for f in folders]}")
    count = 0
    for i, folder in enumerate(folders):
        found = set()
        for split in ("train", "val"):
            names, hashes = check_split(folder / split, root / "source", slice(i, None, len(folders)))
            found |= names
            count += len(hashes) + 1
        check(found == stems, f"{folder}: samples {sorted(stems ^ found)}")
    print(f"{len(folders)} folders of {len(stems)} samples, read {count} times by mosaicml-streaming: every sample as it went in")


if __name__ == "__main__":
    main(sys.argv[1])
