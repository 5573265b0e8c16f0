"""tessera attention: pictures of a small trained Segmenter, looked at pixel by pixel."""
import json
import struct
import zlib

from support import TINY, Folder, check, tessera, write_png

SEGMENTER = [*TINY, "model.name=segmenter", "model.segmenter={patch: 8, width: 32, layers: 3, heads: 2, image_size: 32, decoder_layers: 2}",
             "train.duration=3ep", "train.device=cpu"]


def read_png(path):
    """(width, height, rows of channel tuples) of an 8-bit grey or RGB file."""
    data = path.read_bytes()
    check(data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG")
    place, packed, header = 8, b"", None
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        place += 12 + length
    width, height, depth, colour = header
    check(depth == 8 and colour in (0, 2), f"{path}: {header}")
    step = 1 if colour == 0 else 3
    raw, rows, above = zlib.decompress(packed), [], bytes(width * step)
    for y in range(height):
        line = bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        way = raw[y * (width * step + 1)]
        for i in range(len(line)):
            left, up = (line[i - step] if i >= step else 0), above[i]
            corner = above[i - step] if i >= step else 0
            near = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, near)[way]) % 256
        above = bytes(line)
        rows.append([tuple(line[x * step:(x + 1) * step]) for x in range(width)])
    return width, height, rows


def pictures(folder):
    run, image, out = folder / "run", folder / "pictures/a b.png", folder / "out"
    tessera("train", *SEGMENTER, f"run.dir={run}")
    write_png(image, 43, 37, lambda y, x: (220, 60, 30) if (y - 14) ** 2 + (x - 20) ** 2 < 90 else (40, 60 + x, 90), channels=3)

    text, _ = tessera("attention", "--weights", run, image, "-o", out)
    check("1 picture of 1 image " in text, text)
    width, height, rows = read_png(out / "a b_layer2_mean.png")
    check((width, height) == (43, 37), "a picture has the size of its image")

    tessera("attention", "--weights", run, folder / "pictures", "-o", out, "--layer", 0, "--layer", 1, "--heads", "all", "--query", 20, 30, "--grey",
            "--masks", "--decoder")
    index = json.loads((out / "index.json").read_text())
    files = {entry["file"]: entry for entry in index}
    for layer in (0, 1):
        for head in (0, 1):
            entry = files[f"a b_layer{layer}_head{head}.png"]
            check(entry["query"] == {"y": 20, "x": 30, "row": 2, "column": 3} and 0 < entry["highest"] <= 1, entry)
    # The bare map has one value per patch, the highest is white.
    _, _, grey = read_png(out / "a b_layer1_head0_grey.png")
    for y in range(37):
        for x in range(43):
            check(grey[y][x] == grey[y // 8 * 8][x // 8 * 8], f"pixel {y}, {x} differs from the rest of its patch")
    values = {pixel[0] for row in grey for pixel in row}
    check(max(values) == 255 and len(values) > 3, f"a flat map: {values}")
    # The query's patch, rows 16 to 23 and columns 24 to 31, is framed in green.
    _, _, drawn = read_png(out / "a b_layer1_head0.png")
    green = {(y, x) for y in range(37) for x in range(43) if drawn[y][x] == (80, 255, 120)}
    check(green == {(y, x) for y in range(16, 24) for x in range(24, 32) if y in (16, 23) or x in (24, 31)}, f"framed: {sorted(green)}")
    masks = [entry for entry in index if entry["part"] == "mask" and "grey" not in entry["file"]]
    check(masks and all(1 / 4 <= entry["highest"] <= 1 for entry in masks), f"masks: {masks}")
    check(sum(entry["part"] == "decoder" for entry in index) == 4 * len(masks), "each class in the image: two heads, with and without colour")


def mistakes(folder):
    run, image = folder / "run", folder / "pictures/a b.png"
    for arguments, expected in [
        (["--heads", "2"], "numbers from 0 to 1"),
        (["--query", "99", "3"], "lies outside"),
    ]:
        _, errors = tessera("attention", "--weights", run, image, "-o", folder / "x", *arguments, expect=2)
        check(expected in errors, errors)
    _, errors = tessera("attention", "--weights", run, image, "-o", folder / "x", "--layer", 3, expect=1)
    check("layers are 0 to 2" in errors, errors)
    (folder / "broken.png").write_bytes(b"no picture")
    _, errors = tessera("attention", "--weights", run, folder / "broken.png", "-o", folder / "x", expect=1)
    check("broken.png" in errors, errors)
    tessera("train", *TINY, "train.duration=1ba", f"run.dir={folder}/unet")
    _, errors = tessera("attention", "--weights", folder / "unet", image, "-o", folder / "x", expect=2)
    check("is a unet; attention maps are of model segmenter" in errors, errors)
    tessera("train", *SEGMENTER, "model.segmenter.decoder=linear", "train.duration=1ba", f"run.dir={folder}/linear")
    _, errors = tessera("attention", "--weights", folder / "linear", image, "-o", folder / "x", "--decoder", expect=2)
    check("linear decoder" in errors, errors)


if __name__ == "__main__":
    with Folder() as temporary:
        for part in (pictures, mistakes):
            part(temporary)
            print(f"{part.__name__}: ok")
