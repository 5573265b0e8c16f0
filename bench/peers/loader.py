"""The same recipe in Python: a DataLoader over images/*.jpg and masks/*.png of a folder, as JSON.

scale 0.5-2, crop of 512 padded where it is larger, mirror, brightness, contrast, saturation and hue by ColorJitter, normalise; float32
images and int64 masks. --kind pillow: Pillow and tensor operations; torchvision: its transforms v2 on bytes; albumentations: that and OpenCV.
"""
import argparse
import json
import pathlib
import resource
import time

import numpy as np
import torch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROP, COLORS = 512, {"brightness": 32 / 255, "contrast": 0.5, "saturation": 0.5, "hue": 36 / 360}


class Pairs(torch.utils.data.Dataset):
    def __init__(self, folder, transform):
        self.images = sorted(pathlib.Path(folder, "images").glob("*.jpg"))
        self.masks = [pathlib.Path(folder, "masks", f"{image.stem}.png") for image in self.images]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index], self.masks[index])


def mirrored():
    return torch.rand(()).item() < 0.5


def crop_place(height, width):
    return int(torch.randint(height - CROP + 1, ())), int(torch.randint(width - CROP + 1, ()))


def pillow():
    """As a training script is written: Pillow decodes, scales, crops and mirrors; torchvision's functions on Pillow images change colours."""
    from PIL import Image, ImageOps
    from torchvision.transforms import ColorJitter, functional

    change_colors = ColorJitter(**COLORS)

    def transform(image_file, mask_file):
        image, mask = Image.open(image_file).convert("RGB"), Image.open(mask_file)
        factor = 0.5 + 1.5 * torch.rand(()).item()
        size = round(image.width * factor), round(image.height * factor)
        image, mask = image.resize(size, Image.Resampling.BILINEAR), mask.resize(size, Image.Resampling.NEAREST)
        border = (0, 0, max(0, CROP - size[0]), max(0, CROP - size[1]))
        if any(border):
            image, mask = ImageOps.expand(image, border, (124, 116, 104)), ImageOps.expand(mask, border, 255)
        top, left = crop_place(image.height, image.width)
        box = (left, top, left + CROP, top + CROP)
        image, mask = image.crop(box), mask.crop(box)
        if mirrored():
            image, mask = ImageOps.mirror(image), ImageOps.mirror(mask)
        image = functional.normalize(functional.to_tensor(change_colors(image)), MEAN, STD)
        return image, torch.from_numpy(np.array(mask, dtype=np.int64))

    return transform


def torchvision():
    from torchvision import io
    from torchvision.transforms.v2 import ColorJitter, functional

    mean, std, change_colors = list(MEAN), list(STD), ColorJitter(**COLORS)

    def transform(image_file, mask_file):
        image, mask = io.decode_image(str(image_file), io.ImageReadMode.RGB), io.decode_image(str(mask_file))
        factor = 0.5 + 1.5 * torch.rand(()).item()
        size = [round(image.shape[1] * factor), round(image.shape[2] * factor)]
        image = functional.resize(image, size, antialias=True)
        mask = functional.resize(mask, size, interpolation=functional.InterpolationMode.NEAREST)
        border = [0, 0, max(0, CROP - size[1]), max(0, CROP - size[0])]
        if any(border):
            image, mask = functional.pad(image, border, fill=[124, 116, 104]), functional.pad(mask, border, fill=255)
        top, left = crop_place(image.shape[1], image.shape[2])
        image, mask = functional.crop(image, top, left, CROP, CROP), functional.crop(mask, top, left, CROP, CROP)
        if mirrored():
            image, mask = functional.horizontal_flip(image), functional.horizontal_flip(mask)
        image = functional.normalize(functional.to_dtype(change_colors(image), torch.float32, scale=True), mean, std)
        return image, mask[0].to(torch.int64)

    return transform


def albumentations():
    import albumentations as A
    import cv2

    cv2.setNumThreads(0)
    steps = A.Compose([
        A.RandomScale((-0.5, 1.0), interpolation=cv2.INTER_LINEAR, p=1),
        A.PadIfNeeded(CROP, CROP, position="top_left", border_mode=cv2.BORDER_CONSTANT, fill=(124, 116, 104), fill_mask=255),
        A.RandomCrop(CROP, CROP),
        A.HorizontalFlip(p=0.5),
        A.ColorJitter(**COLORS, p=1),
        A.Normalize(MEAN, STD)])

    def transform(image_file, mask_file):
        image = cv2.cvtColor(cv2.imread(str(image_file), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        changed = steps(image=image, mask=cv2.imread(str(mask_file), cv2.IMREAD_GRAYSCALE))
        return torch.from_numpy(changed["image"].transpose(2, 0, 1)), torch.from_numpy(changed["mask"].astype(np.int64))

    return transform


KINDS = {"pillow": pillow, "torchvision": torchvision, "albumentations": albumentations}


def cpu_seconds():
    return sum(used.ru_utime + used.ru_stime for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


def batches(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--images", type=int, default=200)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(Pairs(options.folder, KINDS[options.kind]()), options.batch, shuffle=True, drop_last=True,
                                         num_workers=options.workers, persistent_workers=options.workers > 0)
    source = batches(loader)
    for _ in range(2):  # the first ones start the workers
        images, masks = next(source)
    if (images.dtype, masks.dtype, images.shape[2:], masks.shape[1:]) != (torch.float32, torch.int64, (CROP, CROP), (CROP, CROP)):
        raise SystemExit(f"not the recipe: {images.dtype} {tuple(images.shape)}, {masks.dtype} {tuple(masks.shape)}")
    begin, cpu, done = time.perf_counter(), cpu_seconds(), 0
    while done < options.images:
        done += len(next(source)[0])
    seconds, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
    # What workers use is known when they have ended; without workers all of it is this process's.
    print(json.dumps({"images": done, "images_per_s": done / seconds, "images_per_cpu_s": done / cpu if options.workers == 0 else None}))


if __name__ == "__main__":
    main()
