"""dsb2018_nuclei in memory: {"training": [(image, label), ...], "validation": [...]}, images (H, W, 3) and labels (H, W) in uint8.

Reads the data set's folder with Pillow or torchvision, whichever is there, or a .pt file that `from_scratch.py --prepare` wrote where one is.
"""
import pathlib

import torch


def decoder():
    try:
        from PIL import Image
    except ImportError:
        from torchvision.io import decode_image
        return lambda path: decode_image(str(path)).permute(1, 2, 0).contiguous()

    def decode(path):
        with Image.open(path) as image:
            return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(image.height, image.width, len(image.getbands()))
    return decode


def read_folder(folder):
    try:
        decode = decoder()
    except ImportError:
        raise SystemExit(f"neither Pillow nor torchvision is here to read {folder}; write a file with from_scratch.py --prepare where one is, "
                         "and give it as --pixels")
    splits = {}
    for split in ("training", "validation"):
        images = sorted((folder / "images" / split).iterdir())
        if not images:
            raise SystemExit(f"{folder}/images/{split} holds no images; expected the data set dsb2018_nuclei")
        masks = [folder / "annotations" / split / (image.stem + ".png") for image in images]
        splits[split] = [(decode(image), (decode(mask)[:, :, 0] > 0).to(torch.uint8)) for image, mask in zip(images, masks)]
    return splits


def read(path):
    path = pathlib.Path(path)
    return read_folder(path) if path.is_dir() else torch.load(path, weights_only=True)
