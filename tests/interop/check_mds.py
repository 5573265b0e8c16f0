"""What data_files_test left (ConvertInterop): MDS folders of ours, read by mosaicml-streaming's StreamingDataset with every hash
checked, and compared with the files that went in. Usage: check_mds.py FOLDER, which holds source/ and the converted folders."""
import io
import json
import pathlib
import sys

from PIL import Image, ImageChops
from streaming import StreamingDataset
from streaming.base.util import clean_stale_shared_memory


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAILED: {message}")


def same(image, file):
    expected = Image.open(file)
    return image.size == expected.size and image.mode == expected.mode and ImageChops.difference(image, expected).getbbox() is None


def check_split(folder, source):
    hashes = json.loads((folder / "index.json").read_text())["shards"][0]["hashes"]
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
    for folder in folders:
        found = set()
        for split in ("train", "val"):
            names, hashes = check_split(folder / split, root / "source")
            found |= names
            count += len(hashes) + 1
        check(found == stems, f"{folder}: samples {sorted(stems ^ found)}")
    print(f"{len(folders)} folders of {len(stems)} samples, read {count} times by mosaicml-streaming: every sample as it went in")


if __name__ == "__main__":
    main(sys.argv[1])
