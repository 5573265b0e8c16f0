"""What is wrong with a data set is found and named. Each fault is planted into a copy of a clean folder, `data check --json` is run on it, and its
findings must name the kind and the sample, and nothing else. On the clean folders it must find nothing.

planted_faults.py PROGRAM [--only NAME]
"""
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "first_hour"))
from folders import FOLDERS  # noqa: E402
from image_files import exif, jpeg, png_chunk, rgba_png, tiff, with_chunk  # noqa: E402
from support import Folder, check, program, write_png  # noqa: E402

WIDTH, HEIGHT, TRAIN, VAL = 64, 48, 16, 4
CLASSES = ["data.classes=[background,disc,box,stripe]"]
COLORS = [(0, 0, 0), (255, 0, 0), (0, 255, 0), (0, 0, 255)]
COLOR_KEYS = ["data.labels.colors=[[0,0,0],[255,0,0],[0,255,0],[0,0,255]]"]


class Scene:
    """One sample: soft blobs of colour, and a disc, a box and a stripe in places of its own."""

    def __init__(self, number):
        rng = random.Random(1000 + number)
        self.blobs = [(rng.uniform(0, HEIGHT), rng.uniform(0, WIDTH), rng.uniform(4, 16), [rng.uniform(40, 200) for _ in range(3)]) for _ in range(9)]
        self.noise = [rng.randrange(-6, 7) for _ in range(997)]
        self.disc = (rng.uniform(10, 38), rng.uniform(10, 54), rng.uniform(7, 9))
        self.box = (rng.randrange(2, 26), rng.randrange(2, 44))
        self.stripe = rng.randrange(4, 54)
        self.number = number

    def label(self, y, x):
        if self.stripe <= x < self.stripe + 6:
            return 3
        if self.box[0] <= y < self.box[0] + 14 and self.box[1] <= x < self.box[1] + 14:
            return 2
        return 1 if (y - self.disc[0]) ** 2 + (x - self.disc[1]) ** 2 < self.disc[2] ** 2 else 0

    def light(self, y, x):
        color = [30.0, 30.0, 30.0]
        for cy, cx, r, rgb in self.blobs:
            weight = math.exp(-((y - cy) ** 2 + (x - cx) ** 2) / (r * r))
            color = [v + weight * (w - v) for v, w in zip(color, rgb)]
        mark = ((0, 0, 0), (50, -20, -20), (-20, 50, -20), (-20, -20, 50))[self.label(min(HEIGHT - 1, int(y)), min(WIDTH - 1, int(x)))]
        return [v + m for v, m in zip(color, mark)]

    def pixel(self, y, x):
        n = self.noise[(y * WIDTH + x) * 7 % 997]
        return [min(255, max(0, int(v) + n)) for v in self.light(y, x)]


SCENES = [Scene(i) for i in range(TRAIN + VAL)]


def name(i):
    return f"t{i:02}" if i < TRAIN else f"v{i - TRAIN:02}"


class Data:
    """A copy of the clean folder, and how its files are written."""

    def __init__(self, root):
        self.root = root

    def path(self, kind, i):
        return self.root / kind / ("train" if i < TRAIN else "val") / f"{name(i)}.png"

    def image(self, i):
        return self.path("images", i)

    def mask(self, i):
        return self.path("masks", i)

    def draw_image(self, i, pixel, width=WIDTH, height=HEIGHT, **options):
        write_png(self.image(i), width, height, pixel, **{"channels": 3, **options})

    def draw_mask(self, i, pixel, width=WIDTH, height=HEIGHT, **options):
        write_png(self.mask(i), width, height, pixel, **options)


def make_clean(root):
    data = Data(root)
    for i, scene in enumerate(SCENES):
        data.draw_image(i, scene.pixel)
        data.draw_mask(i, scene.label)


def make_coloured(root):
    shutil.copytree(root.parent / "clean/images", root / "images")
    for i, scene in enumerate(SCENES):
        Data(root).draw_mask(i, lambda y, x, s=scene: COLORS[s.label(y, x)], channels=3)


def make_binary(root):
    shutil.copytree(root.parent / "clean/images", root / "images")
    for i, scene in enumerate(SCENES):
        Data(root).draw_mask(i, lambda y, x, s=scene: 255 if s.label(y, x) else 0)


def make_deep(root):
    """16-bit grey, as a camera of 12 bits writes it."""
    shutil.copytree(root.parent / "clean/masks", root / "masks")
    for i, scene in enumerate(SCENES):
        Data(root).draw_image(i, lambda y, x, s=scene: 16 * s.pixel(y, x)[1] + (x * 7 + y * 3) % 16, channels=1, bits=16)


BASES = {
    "clean": (make_clean, CLASSES),
    "coloured": (make_coloured, CLASSES + COLOR_KEYS),
    "binary": (make_binary, ["data.labels.binary=true", "data.classes=[background,object]"]),
    "deep": (make_deep, CLASSES + ["data.channels=1"]),
}

FAULTS = {}


def fault(kind, base="clean", named=("t05",), split="train", options=(), also=(), text="", code=None):
    """Registers a function that plants a fault. named: the samples that the finding names; text: what it says; also: kinds that the
    planting brings along, each with its reason in the function."""
    def register(plant):
        FAULTS[plant.__name__] = (kind, base, list(named), split, list(options), set(also), text, code, plant)
        return plant
    return register


@fault("empty_file", code=1)
def empty_image(data):
    data.image(5).write_bytes(b"")


@fault("empty_file", code=1)
def empty_mask(data):
    data.mask(5).write_bytes(b"")


@fault("web_page", code=1)
def web_page(data):
    data.image(5).write_text("<!DOCTYPE html><title>Sign in</title>")


@fault("lfs_pointer", code=1)
def lfs_pointer(data):
    data.image(5).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


@fault("json_answer", code=1)
def json_answer(data):
    data.image(5).write_text('{"error": "not found"}')


@fault("foreign_format", code=1)
def gif_named_png(data):
    data.image(5).write_bytes(b"GIF89a\x01\0\x01\0\0\0\0;")


@fault("foreign_format", code=1)
def zip_named_png(data):
    data.mask(5).write_bytes(b"PK\x03\x04" + bytes(40))


@fault("truncated", code=1)
def truncated_png(data):
    data.image(5).write_bytes(data.image(5).read_bytes()[:900])


@fault("truncated", code=1)
def truncated_mask(data):
    data.mask(5).write_bytes(data.mask(5).read_bytes()[:-20])


@fault("truncated", code=1)
def truncated_jpeg(data):
    data.image(5).unlink()
    data.image(5).with_suffix(".jpg").write_bytes(jpeg(WIDTH, HEIGHT, SCENES[5].pixel, 3)[:2500])


@fault("corrupt", code=1)
def bent_bits(data):
    content = bytearray(data.image(5).read_bytes())
    content[200] ^= 0x10
    data.image(5).write_bytes(content)


@fault("not_a_number", code=1)
def not_a_number(data):
    values = [SCENES[5].pixel(y, x)[0] / 255 for y in range(HEIGHT) for x in range(WIDTH)]
    values[77] = math.nan
    data.image(5).unlink()
    data.image(5).with_suffix(".tif").write_bytes(tiff(WIDTH, HEIGHT, struct.pack(f"<{len(values)}f", *values), 32, kind=3))


@fault("too_large", options=["data.max_pixels=4000"], code=1)
def too_large(data):
    data.draw_image(5, lambda y, x: (x, y, 9), width=90, height=60)
    data.draw_mask(5, lambda y, x: x % 3, width=90, height=60)


@fault("odd_channels", code=1)
def five_channels(data):
    values = [100 * (1 + x + y + c) for y in range(HEIGHT) for x in range(WIDTH) for c in range(5)]
    data.image(5).unlink()
    data.image(5).with_suffix(".tif").write_bytes(tiff(WIDTH, HEIGHT, struct.pack(f"<{len(values)}H", *values), 16, samples=5))


@fault("animation", code=1)
def animated_webp(data):
    frame = b"VP8L" + struct.pack("<I", 14) + b"\x2f" + struct.pack("<I", (WIDTH - 1) | (HEIGHT - 1) << 14) + bytes(9)
    place = bytes(6) + (WIDTH - 1).to_bytes(3, "little") + (HEIGHT - 1).to_bytes(3, "little") + (100).to_bytes(3, "little") + b"\0"
    body = b"WEBPVP8X" + struct.pack("<II", 10, 2) + (WIDTH - 1).to_bytes(3, "little") + (HEIGHT - 1).to_bytes(3, "little")
    body += b"ANIM" + struct.pack("<IIH", 6, 0, 0)
    body += (b"ANMF" + struct.pack("<I", len(place + frame)) + place + frame) * 2
    data.image(5).unlink()
    data.image(5).with_suffix(".webp").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)


@fault("size_mismatch", code=1)
def size_mismatch(data):
    data.draw_mask(5, SCENES[5].label, width=WIDTH - 4)


@fault("exif_rotation", code=1)
def turned_by_exif(data):
    data.image(5).unlink()
    data.image(5).with_suffix(".jpg").write_bytes(jpeg(WIDTH, HEIGHT, SCENES[5].pixel, 3, orientation=6))


@fault("lossy_mask", code=1)
def jpeg_mask(data):
    data.mask(5).unlink()
    data.mask(5).with_suffix(".jpg").write_bytes(jpeg(WIDTH, HEIGHT, lambda y, x: 60 * SCENES[5].label(y, x)))


@fault("fractional_mask", code=1)
def float_mask(data):
    values = [SCENES[5].label(y, x) + 0.5 for y in range(HEIGHT) for x in range(WIDTH)]
    data.mask(5).unlink()
    data.mask(5).with_suffix(".tif").write_bytes(tiff(WIDTH, HEIGHT, struct.pack(f"<{len(values)}f", *values), 32, kind=3))


@fault("mask_pages", code=1)
def mask_of_five_channels(data):
    values = [SCENES[5].label(y, x) == c for y in range(HEIGHT) for x in range(WIDTH) for c in range(5)]
    data.mask(5).unlink()
    data.mask(5).with_suffix(".tif").write_bytes(tiff(WIDTH, HEIGHT, struct.pack(f"<{len(values)}H", *values), 16, samples=5))


@fault("coloured_mask", code=1)
def coloured_mask(data):
    data.draw_mask(5, lambda y, x: COLORS[SCENES[5].label(y, x)], channels=3)


@fault("unlisted_colour", base="coloured", code=1)
def unlisted_colour(data):
    data.draw_mask(5, lambda y, x: (9, 9, 99) if SCENES[5].label(y, x) == 2 else COLORS[SCENES[5].label(y, x)], channels=3)


@fault("label_out_of_range", code=1)
def label_out_of_range(data):
    data.draw_mask(5, lambda y, x: (0, 1, 77, 3)[SCENES[5].label(y, x)])


@fault("missing_mask", code=1)
def missing_mask(data):
    data.mask(5).unlink()


@fault("case_mismatch", also=["left_out_files"], code=1)  # the mask has no image either
def other_case(data):
    data.mask(5).rename(data.mask(5).with_name("T05.png"))


@fault("missing_file", code=1)
def dangling_link(data):
    data.image(5).unlink()
    data.image(5).symlink_to(data.root / "gone.png")


def resized(label, factor=2):
    """The mask at half the size, made large again with bilinear weights."""
    def value(y, x):
        v, u = (y + 0.5) / factor - 0.5, (x + 0.5) / factor - 0.5
        y0, x0 = math.floor(v), math.floor(u)
        b, a = v - y0, u - x0

        def at(row, column):
            return label(min(HEIGHT - 1, max(0, row * factor)), min(WIDTH - 1, max(0, column * factor)))
        return int((1 - b) * ((1 - a) * at(y0, x0) + a * at(y0, x0 + 1)) + b * ((1 - a) * at(y0 + 1, x0) + a * at(y0 + 1, x0 + 1)) + 0.5)
    return value


@fault("interpolated_mask", code=0)
def interpolated_ids(data):
    data.draw_mask(5, resized(SCENES[5].label))


@fault("interpolated_mask", base="binary", code=0)
def interpolated_binary(data):
    data.draw_mask(5, resized(lambda y, x: 255 if SCENES[5].label(y, x) else 0))


@fault("interpolated_mask", code=1)
def interpolated_out_of_range(data):
    data.draw_mask(5, resized(lambda y, x: 255 if SCENES[5].label(y, x) else 0))


@fault("jpeg_like_mask", base="binary", code=0)
def specks_of_jpeg(data):
    rng = random.Random(5)
    label = SCENES[5].label

    def value(y, x):
        around = {label(min(HEIGHT - 1, max(0, y + dy)), min(WIDTH - 1, max(0, x + dx))) > 0 for dy in (-3, 0, 3) for dx in (-3, 0, 3)}
        noise = rng.randrange(12) if len(around) > 1 else 0
        return 255 - noise if label(y, x) else noise
    data.draw_mask(5, value)


@fault("binary_mask", code=0)
def one_binary_mask(data):
    data.draw_mask(5, lambda y, x: 255 if SCENES[5].label(y, x) else 0)


@fault("binary_mask", named=(), text="all 16 masks hold 0 and 255 alone", also=["class_count"], code=0)  # all other classes never occur
def all_masks_binary(data):
    for i, scene in enumerate(SCENES):
        data.draw_mask(i, lambda y, x, s=scene: 255 if s.label(y, x) else 0)


@fault("binary_mask", base="binary", named=(), text="0 is background, 255 an object", options=["data.labels.binary=false"], code=2)
def binary_masks_of_two_classes(data):
    pass


@fault("mask_is_image", code=1)
def image_in_place_of_mask(data):
    shutil.copy(data.image(5), data.mask(5))


@fault("mask_is_image", base="binary", code=0)
def grey_image_in_place_of_mask(data):
    def grey(y, x):
        r, g, b = SCENES[5].pixel(y, x)
        return (299 * r + 587 * g + 114 * b + 500) // 1000
    data.draw_mask(5, grey)


@fault("same_mask", code=0)
def mask_of_another(data):
    shutil.copy(data.mask(2), data.mask(5))


@fault("exact_duplicate", named=("t05",), code=0)
def saved_twice(data):
    shutil.copy(data.mask(2), data.mask(5))
    # The same pixels in another file.
    raw = zlib.compress(b"".join(b"\0" + bytes(v for x in range(WIDTH) for v in SCENES[2].pixel(y, x)) for y in range(HEIGHT)), 1)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    data.image(5).write_bytes(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", raw) + png_chunk(b"IEND", b""))


@fault("split_leak", code=0)
def leaked_to_val(data):
    shutil.copy(data.image(5), data.image(TRAIN + 1))
    shutil.copy(data.mask(5), data.mask(TRAIN + 1))


def lighter(scene):
    return lambda y, x: [min(255, int(v * 0.9) + 20 + (x * 5 + y * 3) % 5) for v in scene.pixel(y, x)]


@fault("near_duplicate", code=0)
def lighter_copy(data):
    shutil.copy(data.mask(2), data.mask(5))
    data.draw_image(5, lighter(SCENES[2]))


@fault("near_duplicate", code=0)
def copy_saved_as_jpeg(data):
    shutil.copy(data.mask(2), data.mask(5))
    data.image(5).unlink()
    data.image(5).with_suffix(".jpg").write_bytes(jpeg(WIDTH, HEIGHT, SCENES[2].pixel, 3, step=24))


@fault("near_split_leak", code=0)
def lighter_copy_in_val(data):
    shutil.copy(data.mask(5), data.mask(TRAIN + 1))
    data.draw_image(TRAIN + 1, lighter(SCENES[5]))


@fault("constant_image", code=0)
def constant_image(data):
    data.draw_image(5, lambda y, x: (40, 41, 42))


@fault("black_image", code=0)
def black_image(data):
    data.draw_image(5, lambda y, x: [v // 60 for v in SCENES[5].pixel(y, x)])


@fault("unlabelled", code=0)
def unlabelled(data):
    data.draw_mask(5, lambda y, x: 255)


@fault("alpha_channel", code=0)
def glass(data):
    data.image(5).write_bytes(rgba_png(WIDTH, HEIGHT, lambda y, x: [*SCENES[5].pixel(y, x), 255 if x > 9 else 0]))


@fault("shallow_16_bit", base="deep", code=0)
def eight_bits_in_sixteen(data):
    data.draw_image(5, lambda y, x: 200 + SCENES[5].pixel(y, x)[1] // 5, channels=1, bits=16)


@fault("first_frame", code=0)
def animated_png(data):
    data.image(5).write_bytes(with_chunk(data.image(5).read_bytes(), b"acTL", struct.pack(">II", 2, 0)))


@fault("turned_photo", code=0)
def half_a_turn(data):
    data.image(5).write_bytes(with_chunk(data.image(5).read_bytes(), b"eXIf", exif(3)))


@fault("wrong_extension", code=0)
def png_named_jpg(data):
    data.image(5).rename(data.image(5).with_suffix(".jpg"))


@fault("cmyk_image", code=0)
def four_inks(data):
    data.image(5).unlink()
    data.image(5).with_suffix(".jpg").write_bytes(jpeg(WIDTH, HEIGHT, lambda y, x: [*SCENES[5].pixel(y, x), 250], 4))


@fault("grey_among_colour", code=0)
def one_grey(data):
    data.draw_image(5, lambda y, x: SCENES[5].pixel(y, x)[0], channels=1)


@fault("odd_size", code=0)
def one_larger(data):
    data.draw_image(5, lambda y, x: SCENES[5].pixel(min(y, HEIGHT - 1), min(x, WIDTH - 1)), width=WIDTH + 8)
    data.draw_mask(5, lambda y, x: SCENES[5].label(min(y, HEIGHT - 1), min(x, WIDTH - 1)), width=WIDTH + 8)


@fault("background_only", code=0)
def nothing_marked(data):
    data.draw_mask(5, lambda y, x: 0)


@fault("constant_mask", code=0)
def filled_mask(data):
    data.draw_mask(5, lambda y, x: 2)


@fault("duplicate_stem", named=(), text="t05.tif", code=1)
def two_of_one_name(data):
    data.image(5).with_suffix(".tif").write_bytes(tiff(2, 2, bytes(4), 8))


@fault("cannot_open", named=(), text="none of the usual folders", code=1, options=["data.train.images=images/train"])
def no_masks(data):
    shutil.rmtree(data.root / "masks")


@fault("left_out_files", named=(), text="t99.png", code=0)
def mask_without_image(data):
    shutil.copy(data.mask(5), data.mask(5).with_name("t99.png"))


@fault("left_out_files", named=(), text="1 .heic", code=0)
def format_that_is_not_read(data):
    data.image(5).with_name("t99.heic").write_bytes(b"\0\0\0\x18ftypheic")


@fault("mixed_depths", also=["grey_among_colour"], code=0)  # that file is grey, too
def one_of_sixteen_bits(data):
    data.draw_image(5, lambda y, x: 150 * SCENES[5].pixel(y, x)[1] + x, channels=1, bits=16)


@fault("wrong_offset", named=(), options=["data.labels.offset=-1"], also=["class_count", "undeclared_ignore"], text="the values seem to be 0..3", code=0)
def offset_that_is_not_there(data):  # the last class is then in no mask
    pass


@fault("wrong_offset", named=(), options=["data.classes=[disc,box,stripe,rest]"], text="1 is the first class", code=2)
def numbered_from_one(data):
    for i, scene in enumerate(SCENES):
        data.draw_mask(i, lambda y, x, s=scene: 1 + s.label(y, x))


@fault("class_count", named=(), options=["data.classes=[background,disc,box,stripe,ring]"], text="never occur: ring", code=0)
def one_class_too_many(data):
    pass


@fault("class_count", named=(), options=["data.classes=[background,disc]"], text="data.classes names 2 classes", code=2)
def two_classes_too_few(data):
    pass


@fault("absent_class", named=(), split="val", text="never occur in val, but do in another split: stripe", code=0)
def class_missing_in_val(data):
    for i in range(TRAIN, TRAIN + VAL):
        data.draw_mask(i, lambda y, x, s=SCENES[i]: 0 if s.label(y, x) == 3 else s.label(y, x))


@fault("class_imbalance", named=(), text="times the pixels of stripe", also=["absent_class"], code=0)  # so rare that val has none
def one_class_rare(data):
    for i, scene in enumerate(SCENES):
        data.draw_mask(i, lambda y, x, s=scene, i=i: 0 if s.label(y, x) == 3 and (i > 2 or y > 8) else s.label(y, x))


@fault("undeclared_ignore", named=(), text="16 of 16 masks hold 255", code=0)
def hidden_ignore(data):
    for i in range(TRAIN):
        data.draw_mask(i, lambda y, x, s=SCENES[i]: 255 if y > HEIGHT - 5 else s.label(y, x))


def data_check(path, options):
    """(exit code, what it found) of the real program."""
    done = subprocess.run([program(), "data", "check", f"data.path={path}", "--json", *options], capture_output=True, text=True, timeout=300, check=False)
    check(done.stdout.startswith("{"), f"{path} {options}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode, json.loads(done.stdout)


def brief(result):
    return [(f["kind"], f["split"], [s["id"] for s in f["samples"]], f["text"]) for f in result["findings"]]


def plant(folder, title):
    kind, base, named, split, options, also, text, code, function = FAULTS[title]
    root = folder / title
    shutil.copytree(folder / base, root, symlinks=True)
    function(Data(root))
    exit_code, result = data_check(root, [*(o for o in BASES[base][1] if not any(p.split("=")[0] == o.split("=")[0] for p in options)), *options])
    found = [f for f in result["findings"] if f["kind"] == kind and f["split"] == split]
    check(len(found) == 1, f"{title}: {kind} was not found; found {brief(result)}")
    ids = [s["id"] for s in found[0]["samples"]]
    check(ids == named, f"{title}: {kind} names {ids}, planted in {named}")
    check(text in found[0]["text"], f"{title}: {kind} says '{found[0]['text']}', without '{text}'")
    for sample in found[0]["samples"]:
        check(sample["detail"] and sample["image"].rsplit("/", 1)[-1].startswith(sample["id"]), f"{title}: {sample}")
    others = [f for f in brief(result) if f[0] != kind and f[0] not in also]
    check(not others, f"{title}: found more than was planted: {others}")
    check(code is None or exit_code == code, f"{title}: exit code {exit_code}, expected {code}: {result['verdict']}")
    shutil.rmtree(root)
    print(f"{title}: {kind}", flush=True)
    return kind


def clean_folders(folder):
    """The six folders of the first hour, and the bases of the faults: nothing is wrong with them."""
    keys = {
        "cells": ["data.labels.binary=true", "data.channels=1"],
        "streets": ["data.classes=[sky,road,car]", "data.labels.ignore=[255]"],
        "cracks": ["data.labels.binary=true", "data.channels=1"],
        "coco": ["data.type=coco", "data.coco.classes=category", "data.classes=[]"],
        "stacks": ["data.channels=5"],
        "two_sizes": ["data.classes=[background,large,small]"],
    }
    for title, make in FOLDERS.items():
        make(folder / "first" / title, 48, 12)
        code, result = data_check(folder / "first" / title, keys[title])
        check(result["findings"] == [] and code == 0, f"{title} is clean: {code} {brief(result)} {result['verdict']}")
    for title, (_, options) in BASES.items():
        code, result = data_check(folder / title, options)
        check(result["findings"] == [] and code == 0 and result["verdict"]["state"] == "ready", f"{title} is clean: {code} {brief(result)}")
    print("clean folders: nothing found", flush=True)


def pages_and_lists(folder):
    """--html and --manifest of a folder with faults; the list trains without them."""
    root = folder / "pages"
    shutil.copytree(folder / "clean", root)
    data = Data(root)
    interpolated_ids(data)
    data.image(3).write_bytes(b"")
    shutil.copy(data.image(7), data.image(TRAIN + 1))
    page, manifest = root / "check.html", root / "good.txt"
    done = subprocess.run([program(), "data", "check", f"data.path={root}", *CLASSES, "data.max_bad_share=0.1", "--html", page, "--manifest", manifest],
                          capture_output=True, text=True, timeout=300, check=False)
    out = done.stdout
    check(done.returncode == 1, f"{done.returncode}\n{out}{done.stderr}")
    check("ready to train, with 1 of 20 samples left out:" in out and "[empty_file]" in out and "warning: t05: " in out, out)
    check("t07 of train is v01 of val" in out, out)
    html = page.read_text()
    check(html.count("data:image/png;base64,") >= 9 and "Masks that look interpolated" in html and "http://" not in html, f"{len(html)} bytes")
    listed = (root / "good.train.txt").read_text()
    check("# left out: t03: empty_file: " in listed and "# left out: t05: interpolated_mask: " in listed and "# left out: t07: split_leak: " in listed, listed)
    check([line for line in listed.splitlines() if line[:1] != "#"] == [name(i) for i in range(TRAIN) if i not in (3, 5, 7)], listed)
    command = out.strip().splitlines()[-1].strip()
    tiny = ["model.unet.channels=[4]", "train.duration=1ba", "train.batch_size=2", "run.pictures=0", f"run.dir={root}/run",
            "'data.train.transforms=[{random_crop: {size: 32}}]'"]
    trained = subprocess.run(["bash", "-c", " ".join([command, *tiny])], capture_output=True, text=True, timeout=300, check=False)
    check(trained.returncode == 0 and "data: 13 train" in trained.stderr and "4 val" in trained.stderr, f"{command}\n{trained.stdout}{trained.stderr}")
    again = subprocess.run([program(), "data", "stats", f"data.path={root}", *CLASSES, "--html", root / "stats.html"], capture_output=True, text=True,
                           timeout=300, check=False)
    check(again.returncode == 0 and "<polyline" in (root / "stats.html").read_text(), again.stdout + again.stderr)
    browsed = subprocess.run([program(), "data", "browse", f"data.path={root}", *CLASSES, "--class", "stripe", "-n", "3", "--split", "train", "-o",
                              root / "browse.html"], capture_output=True, text=True, timeout=300, check=False)
    check(browsed.returncode == 0 and (root / "browse.html").read_text().count("<article") == 3, browsed.stdout + browsed.stderr)
    print("pages and lists: ok", flush=True)


def lists_of_coco(folder):
    """Where val is held out of train, both lists read the one file there is."""
    root = folder / "held_out"
    FOLDERS["coco"](root, 32, 10)
    shutil.rmtree(root / "val2017")
    (root / "annotations/instances_val2017.json").unlink()
    options = ["data.type=coco", "data.coco.classes=category", "data.classes=[]", f"data.path={root}"]
    done = subprocess.run([program(), "data", "check", *options, "--manifest", root / "good.txt"], capture_output=True, text=True, timeout=300, check=False)
    command = done.stdout.strip().splitlines()[-1].strip()
    listed = subprocess.run(["bash", "-c", command.replace(" train ", " data list ", 1)], capture_output=True, text=True, timeout=300, check=False)
    check(done.returncode == 0 and listed.returncode == 0 and listed.stdout.count("train\t") == 8 and listed.stdout.count("val\t") == 2,
          f"{command}\n{listed.stdout}{listed.stderr}")
    print("lists of COCO: ok", flush=True)


def real_data():
    """Real data sets where they are: what is said of them is true, and was looked at. Three images of ADE20K cannot show 150 classes; two photos of
    the sample of COCO are grey, and of its supercategories some are rare."""
    home = pathlib.Path(os.environ.get("TESSERA_DATA", pathlib.Path(__file__).resolve().parents[2].parent / "shared/data"))
    configs = pathlib.Path(__file__).resolve().parents[2] / "configs/base/datasets"
    expected = {
        "ade20k_sample": ("ade20k.yaml", ["--split", "val"], ["class_count"]),
        "coco_tiny": ("coco_supercategories.yaml", [], ["class_imbalance", "grey_among_colour"]),
        "dsb2018_nuclei": ("dsb2018_nuclei.yaml", [], []),
    }
    for title, (config, options, kinds) in expected.items():
        if not (home / title).exists():
            print(f"{title} is not in {home}: not looked at", flush=True)
            continue
        done = subprocess.run([program(), "data", "check", configs / config, f"data.path={home / title}", "--json", *options], capture_output=True, text=True,
                              timeout=600, check=False, env={**os.environ, "TESSERA_DATA": str(home)})
        check(done.returncode == 0, f"{title}: {done.stdout}{done.stderr}")
        found = brief(json.loads(done.stdout))
        check(sorted({f[0] for f in found}) == kinds, f"{title}: {found}")
        print(f"{title}: {kinds or 'nothing found'}", flush=True)


def main():
    only = sys.argv[3] if len(sys.argv) > 3 and sys.argv[2] == "--only" else None
    with Folder() as folder:
        for title, (make, _) in BASES.items():
            make(folder / title)
        kinds = {plant(folder, title) for title in FAULTS if only in (None, title)}
        if only is None:
            check(len(kinds) >= 30, f"{len(kinds)} kinds were planted")
            print(f"{len(FAULTS)} faults of {len(kinds)} kinds: all found", flush=True)
            clean_folders(folder)
            pages_and_lists(folder)
            lists_of_coco(folder)
            real_data()


if __name__ == "__main__":
    main()
