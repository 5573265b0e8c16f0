"""Configs, COCO files and images that were made to fill the memory: aliases that unfold, outlines far outside, sizes that no image
has, pictures of a few bytes that say they are huge. Each is refused by its name, with our exit code, in a fraction of the memory."""
import json
import os
import resource
import struct
import subprocess
import time
import zlib

from support import TINY, Folder, check, program, tessera, write_png

SLACK_KB = 50_000
LIMIT = 16 * 2**30  # of addresses, of which the libraries alone take several gigabytes
SECONDS = 60
ERROR, USAGE = 1, 2


def run(*arguments):
    """Exit code, all that was printed, and peak memory in kB."""
    begin = time.monotonic()
    process = subprocess.Popen([program(), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)))
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(time.monotonic() - begin < SECONDS, f"{arguments}: took {time.monotonic() - begin:.0f} s")
    return process.returncode, text, usage.ru_maxrss


def expect(name, code, words, usual, *arguments):
    found, text, memory = run(*arguments)
    check(found == code, f"{name}: exit code {found}, expected {code}\n{text[-2000:]}")
    for word in words:
        check(word in text, f"{name}: expected '{word}' in\n{text[-2000:]}")
    check(memory < usual + SLACK_KB, f"{name}: {memory} kB of memory, an honest input takes {usual}")
    print(f"{name}: ok ({memory} kB, honest {usual} kB)")


def alias_bomb(path):
    lines = ["l0: &l0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"l{i}: &l{i} [" + ", ".join([f"*l{i - 1}"] * 10) + "]" for i in range(1, 10)]
    path.write_text("\n".join(lines) + "\n")


def png_bomb(path, side):
    """A blank grey picture of 1 bit a pixel: side x side pixels in a thousandth of the bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + side // 8)) for _ in range(side)) + packer.flush()
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


SQUARE = [4, 4, 20, 4, 20, 20]


def coco(folder, height=32, width=32, polygon=SQUARE, outlines=None, image=None):
    """A data set of two images; the values given are those of the first one."""
    for name in ("a", "b"):
        write_png(folder / "images" / f"{name}.png", 32, 32, lambda y, x: (8 * y, 8 * x, 0), channels=3)
    outline = {"image_id": 1, "category_id": 1, "iscrowd": 0}
    content = {
        "images": [image or {"id": 1, "file_name": "a.png", "height": height, "width": width}, {"id": 2, "file_name": "b.png", "height": 32, "width": 32}],
        "annotations": [{"id": 100 + i, "segmentation": polygons, **outline} for i, polygons in enumerate(outlines or [[list(polygon)]])] +
                       [{"id": 8, "segmentation": [SQUARE], **outline, "image_id": 2}],
        "categories": [{"id": 1, "name": "cell", "supercategory": "cell"}],
    }
    (folder / "instances.json").write_text(json.dumps(content))
    return ["data.type=coco", f"data.path={folder}", "data.train.images=images", "data.train.masks=instances.json", "data.coco.classes=binary",
            "data.val_share=0"]


def check_configs(folder):
    honest, bomb = folder / "honest.yaml", folder / "bomb.yaml"
    honest.write_text("train: {seed: 1}\n")
    code, text, usual = run("config", "show", honest)
    check(code == 0, text)
    alias_bomb(bomb)
    expect("aliases", USAGE, ["bomb.yaml:6", "more than 1000000 values"], usual, "config", "show", bomb)
    # Ten bases that are just small enough by themselves.
    lines = [f"l{i}: &l{i} [" + ", ".join([f"*l{i - 1}"] * 10 if i else ["x"] * 10) + "]" for i in range(5)]
    for i in range(10):
        (folder / f"base{i}.yaml").write_text("\n".join(lines) + "\n")
    many = folder / "many.yaml"
    many.write_text("base: [" + ", ".join(f"base{i}.yaml" for i in range(10)) + "]\n")
    expect("bases", USAGE, ["more than 1000000 values", "'base' files counted in"], usual + 450_000, "config", "show", many)


def check_coco(folder):
    command = ["data", "check", "--split", "train"]
    code, text, usual = run(*command, *coco(folder / "honest"))
    check(code == 0, text)
    far = [v for i in range(1000) for v in ((-1e5, 1e5)[i % 2], (-1e5, 1e5, 3)[i % 3])]
    code, text, memory = run(*command, *coco(folder / "far", polygon=far))
    check(code == 0 and memory < usual + SLACK_KB, f"far outline: exit code {code}, {memory} kB\n{text}")
    print(f"far_outline: ok ({memory} kB, honest {usual} kB)")
    for side in (20000, 60000, 2**31 - 1, 2**40):
        expect(f"coco_size_{side}", ERROR, ["a.png is 32 x 32", "2 samples, 1 unusable"], usual, *command, *coco(folder / str(side), side, side))
    for i, image in enumerate(({"id": 1, "file_name": "a.png", "height": 0, "width": 32}, {"id": 1, "file_name": "a.png", "height": -1, "width": 32},
                               {"id": [1], "file_name": "a.png", "height": 32, "width": 32}, {"id": 1, "height": 32, "width": 32})):
        expect(f"coco_entry_{i}", ERROR, ["2 samples, 1 unusable"], usual, *command, *coco(folder / f"entry{i}", image=image))


def check_many_outlines(folder):
    """A large picture of few bytes, outlined by little text that would take minutes to paint or gigabytes to keep."""
    side, command = 8000, ["data", "check", "--split", "train"]
    whole, zigzag = [0, 0, side, 0, side, side, 0, side], [v for i in range(1000) for v in ((0, 2 * i, side, 2 * i) if i % 2 == 0 else (side, 2 * i, 0, 2 * i))]

    def data(name, outlines):
        options = coco(folder / name, side, side, outlines=outlines)
        png_bomb(folder / name / "images/a.png", side)
        return options
    code, text, usual = run(*command, *data("one", [[whole]]))
    check(code == 0, text)
    # What is kept of the outlines is 256 MB at most.
    expect("painted_over", ERROR, ["cover the image more than", "2 samples, 1 unusable"], usual + 300_000, *command, *data("over", [[whole]] * 100))
    expect("crossed_often", ERROR, ["cross columns of pixels more than", "2 samples, 1 unusable"], usual + 300_000, *command, *data("zigzag", [[zigzag] * 16]))


def check_images(folder):
    pairs = folder / "pairs"
    for name in ("a", "b"):
        write_png(pairs / "images" / f"{name}.png", 32, 32, lambda y, x: (8 * y, 8 * x, 0), channels=3)
        write_png(pairs / "masks" / f"{name}.png", 32, 32, lambda y, x: int(x > y))
    config = ["data.type=pairs", f"data.path={pairs}", "data.train.images=images", "data.train.masks=masks", "data.classes=[no, yes]", "data.val_share=0"]
    command = ["data", "check", "--split", "train", *config]
    code, text, usual = run(*command)
    check(code == 0, text)
    png_bomb(pairs / "images/a.png", 16384)
    limit = "16384 x 16384 = 268435456 pixels, more than data.max_pixels=178956970"
    expect("png_image", ERROR, [limit, "set data.max_pixels=268435456", "2 samples, 1 unusable"], usual, *command)
    (pairs / "images/a.png").unlink()
    with open(pairs / "images/a.png", "wb") as sparse:
        sparse.truncate(100 * 2**30)
    expect("sparse_image", ERROR, ["a.png", "it has 107374182400 bytes", "2 samples, 1 unusable"], usual, *command)
    png_bomb(pairs / "images/a.png", 16384)
    png_bomb(pairs / "masks/b.png", 16384)
    expect("png_mask", ERROR, [limit, "masks/b.png"], usual, *command)

    trained = folder / "run"
    tessera("train", *TINY, "train.duration=1ba", f"run.dir={trained}")
    picture, out = pairs / "images/b.png", folder / "out"
    code, text, usual = run("predict", "--weights", trained, picture, "-o", out)
    check(code == 0, text)
    expect("predict", ERROR, [limit, "a.png"], usual, "predict", "--weights", trained, pairs / "images/a.png", picture, "-o", out)


def main():
    with Folder() as folder:
        check_configs(folder)
        check_coco(folder)
        check_many_outlines(folder)
        check_images(folder)


if __name__ == "__main__":
    main()
