"""A folder that nobody configured: `data check` ends with a command, and that command, pasted into a shell, trains. What a run decides about the
range of its images stays with it."""
import json
import re
import subprocess

from support import Folder, check, program, tessera, write_png

SMALL = ["model.unet.channels=[4,8]", "model.unet.bottleneck=16", "train.duration=2ba", "train.batch_size=2", "run.pictures=0",
         "data.train.transforms=[{random_crop: {size: 24}}, photometric]"]


def inside(i, y, x):
    return (y - 12 - i % 3) ** 2 + (x - 14 + i % 4) ** 2 < 40


def make(root, image, mask, image_format={}, mask_format={}, count=8):
    for i in range(count):
        write_png(root / f"images/cell {i}.png", 32, 28, lambda y, x: image(i, y, x), **image_format)
        write_png(root / f"masks/cell {i}.png", 32, 28, lambda y, x: mask(i, y, x), **mask_format)


def checked(folder, *options, expect=2):
    """The command that `data check` prints for a folder, and all that it printed."""
    out, _ = tessera("data", "check", f"data.path={folder}", f"run.dir={folder}/run", *SMALL, *options, expect=expect)
    lines = [line.strip() for line in out.splitlines()]
    check(lines[-1].startswith(f"{program()} train "), out)
    return lines[-1], out


def trains(command):
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
    check(done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}")
    return done.stderr


def grey(i, y, x):
    return 90 + x if inside(i, y, x) else 20 + y


def camera(i, y, x):
    """12 bits of 16."""
    return 3000 + 10 * x if inside(i, y, x) else 100 + 3 * y


def masks_of_all_kinds(folder):
    kinds = {
        "objects": (lambda i, y, x: 255 if inside(i, y, x) else 0, {}, "data.labels.binary=true data.channels=1"),
        "numbers": (lambda i, y, x: (x // 8) * 2 % 5 % 4 if y > 9 else 0, {}, None),
        "from one": (lambda i, y, x: 1 + (x + i) // 8 % 3, {}, "data.labels.offset=-1 'data.classes=[class_0,class_1,class_2]' data.channels=1"),
        "gaps": (lambda i, y, x: (0, 7, 90)[(x + i) // 4 % 3], {}, "'data.labels.map={0: 0, 7: 1, 90: 2}' 'data.classes=[class_0,class_1,class_2]' data.channels=1"),
        "colours": (lambda i, y, x: ((0, 0, 0), (255, 0, 0), (0, 128, 255))[(x + i) // 4 % 3], {"channels": 3},
                    "'data.labels.colors=[[0,0,0],[0,128,255],[255,0,0]]' 'data.classes=[class_0,class_1,class_2]' data.channels=1"),
        "cells": (lambda i, y, x: 1 + x // 8 + 4 * (y // (28 if i == 0 else 14 if i % 2 else 7)) if y % 7 < 5 and x % 8 < 6 else 0, {"bits": 16}, None),
    }
    for name, (mask, mask_format, keys) in kinds.items():
        make(folder / name, grey, mask, {}, mask_format)
        command, out = checked(folder / name)
        check(keys is None or keys in command, out)
        trains(command)
        _, again = checked(folder / name, *[word for word in re.findall(r"'(data\.[^']*)'|(data\.(?:labels|channels)\S*)", command) for word in word if word], expect=0)
        check("ready to train:" in again, again)


def one_line_for_many(folder):
    """What repeats is said once."""
    make(folder / "d", grey, lambda i, y, x: (x + i) // 4 % 6)
    out, _ = tessera("data", "stats", f"data.path={folder}/d", "data.classes=[a,b]", "data.channels=1", "--split", "train", expect=1)
    (folder / "d/images/cell 3.png").write_bytes(b"no picture")
    for i in (0, 1, 2, 4, 5):
        (folder / f"d/masks/cell {i}.png").write_bytes(b"GIF8")
    command, out = checked(folder / "d", "data.val_share=0")
    check(re.search(r"it is a GIF: convert it to PNG: 5 of 8 samples; first 5: cell 0, cell 1, cell 2, cell 4, cell 5", out), out)
    check("not ready to train: 6 of 8 train samples are unusable" in out, out)
    out, _ = tessera("data", "check", f"data.path={folder}/d", "data.val_share=0", "--all", expect=2)
    check(out.count("it is a GIF") == 5, out)


def ranges_stay_with_the_run(folder):
    make(folder / "deep", camera, lambda i, y, x: 255 if inside(i, y, x) else 0, {"bits": 16})
    command, out = checked(folder / "deep")
    check("images: 16-bit, grey, values 100 to 3" in out and "(12 of 16 bits)" in out and "become 0 to 1" in out, out)
    errors = trains(command)
    said = re.search(r"data.normalize.mode=auto: range, low_value \[(\d+)\] to high_value \[(\d+)\]", errors)
    check(said, errors)
    for kept in (folder / "deep/run/config.yaml", folder / "deep/run/checkpoints/step-00000002/config.yaml"):
        text = kept.read_text()
        check("mode: range" in text and f"low_value: [{said[1]}]" in text and f"high_value: [{said[2]}]" in text, text)
    images = json.loads((folder / "deep/run/checkpoints/step-00000002/state.json").read_text())["images"]
    check(images["depth"] == "16-bit" and images["channels"] == 1, images)
    trains(command + " --resume")

    make(folder / "eight", grey, lambda i, y, x: 0)
    _, errors = tessera("predict", "-w", folder / "deep/run", "-o", folder / "p", folder / "eight/images")
    check(errors.count("is 8-bit, the model was trained on 16-bit ones") == 1, errors)
    _, errors = tessera("predict", "-w", folder / "deep/run", "-o", folder / "q", folder / "deep/images")
    check("trained on" not in errors and "the model" not in errors, errors)
    _, errors = tessera("eval", "-w", folder / "deep/run", f"data.path={folder}/eight")
    check("the images are not like those of training: 8-bit, the model was trained on 16-bit ones" in errors, errors)

    fixed = [f"data.path={folder}/deep", "data.labels.binary=true", "data.channels=1", "data.normalize.mode=fixed"]
    out, _ = tessera("data", "check", *fixed)
    check("almost one value" in out and "data.normalize.mode=range 'data.normalize.low_value=[" in out, out)
    _, errors = tessera("train", *fixed, *SMALL, f"run.dir={folder}/fixed")
    check("almost one value" in errors, errors)
    out, _ = tessera("data", "browse", *fixed, "-o", folder / "b.png", "-n", 2)
    check("almost one value" in out, out)
    tessera("data", "stats", f"data.path={folder}/deep", "data.labels.binary=true", "data.channels=1")


if __name__ == "__main__":
    for part in (masks_of_all_kinds, one_line_for_many, ranges_stay_with_the_run):
        with Folder() as temporary:
            part(temporary)
        print(f"{part.__name__}: ok")
