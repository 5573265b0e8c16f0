"""dsb2018_nuclei in memory: {"training": [(image, label), ...], "validation": [...]}, images (H, W, 3) and labels (H, W) in uint8.

Reads the data set's folder with Pillow, or a file that `from_scratch.py --prepare` wrote where Pillow is.
"""
import gzip
import io
import pathlib

import torch


def read_folder(folder):
    try:
        from PIL import Image
    except ImportError:
        raise SystemExit(f"Pillow is not here to read {folder}; write a file with from_scratch.py --prepare where it is, and give it as --pixels")

    def decode(path):
        with Image.open(path) as image:
            return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(image.height, image.width, len(image.getbands()))

    splits = {}
    for split in ("training", "validation"):
        images = sorted((folder / "images" / split).iterdir())
        if not images:
            raise SystemExit(f"{folder}/images/{split} holds no images; expected the data set dsb2018_nuclei")
        masks = [folder / "annotations" / split / (image.stem + ".png") for image in images]
        splits[split] = [(decode(image), (decode(mask)[:, :, 0] > 0).to(torch.uint8)) for image, mask in zip(images, masks)]
    return splits


def write(splits, path):
    """Compressed, and of grey images (nearly all are) one channel."""
    def narrow(image):
        return image[:, :, :1].clone() if bool((image == image[:, :, :1]).all()) else image
    data = io.BytesIO()
    torch.save({split: [(narrow(image), label) for image, label in samples] for split, samples in splits.items()}, data)
    path.write_bytes(gzip.compress(data.getvalue()))


def read(path):
    path = pathlib.Path(path)
    if path.is_dir():
        return read_folder(path)
    splits = torch.load(io.BytesIO(gzip.decompress(path.read_bytes())), weights_only=True)
    return {split: [(image.expand(-1, -1, 3), label) for image, label in samples] for split, samples in splits.items()}
