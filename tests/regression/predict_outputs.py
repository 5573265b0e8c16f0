"""What predict writes beside masks agrees with the masks: areas, objects, polygons, pictures. A huge image is cut into windows by default, in
memory that does not grow with it, and predicted as with the same windows asked for; 16-bit files stay 16-bit until then."""
import json
import os
import struct
import subprocess
import zlib

from support import Folder, check, program, tessera, write_png

HEIGHT, WIDTH = 4000, 6000
MEGABYTE = 1 << 20


def read_png(path):
    """Width, height and rows of bytes of an 8-bit grey or RGB PNG."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, color = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    check(bits == 8 and color in (0, 2), f"{path} has {bits} bits, colour type {color}")
    step = 3 if color == 2 else 1
    raw, rows, above = zlib.decompress(packed), [], bytes(width * step)
    for y in range(height):
        begin = y * (width * step + 1)
        kind, row = raw[begin], bytearray(raw[begin + 1:begin + 1 + width * step])
        for i in range(len(row)):
            a, b, c = row[i - step] if i >= step else 0, above[i], above[i - step] if i >= step else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, nearest)[kind]) % 256
        rows.append(bytes(row))
        above = rows[-1]
    return width, height, rows


def write_large(path, bits):
    """Grey stripes and blocks, 8 or 16 bits, made without a loop over all pixels."""
    def row(y):
        values = ((40 + x // 50 * 29 % 160 + y // 70 * 31 % 50) for x in range(WIDTH))
        return b"\0" + (bytes(values) if bits == 8 else struct.pack(f">{WIDTH}H", *(v * 257 for v in values)))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    bands = [row(y) * 70 for y in range(0, HEIGHT, 70)]
    rows = b"".join(bands)[:HEIGHT * (WIDTH * bits // 8 + 1)]
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def ring_area(ring):
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, ring[1:])) / 2


def outputs(folder, run):
    out = folder / "out"
    tessera("predict", "-w", run, folder / "data/images", "-o", out, "--overlay", "--outlines", "--json", "--polygons", "geojson")
    tessera("predict", "-w", run, folder / "data/images", "-o", out, "--polygons", "coco")
    coco = json.loads((out / "annotations_coco.json").read_text())
    check([image["file_name"] for image in coco["images"]] == [f"{i}.png" for i in range(8)], f"images: {coco['images']}")
    check(coco["categories"] == [{"id": 1, "name": "foreground"}], f"categories: {coco['categories']}")
    objects = 0
    for i in range(8):
        width, height, rows = read_png(out / f"{i}.png")
        counts = [sum(row.count(k) for row in rows) for k in (0, 1)]
        areas = json.loads((out / f"{i}.json").read_text())
        check((areas["width"], areas["height"]) == (40, 32) == (width, height), f"{i}: {areas}")
        check([entry["pixels"] for entry in areas["classes"]] == counts, f"{i}: {areas}, the mask has {counts}")
        check(areas["file"].endswith(f"images/{i}.png") and areas["classes"][1]["name"] == "foreground", f"{i}: {areas}")
        features = json.loads((out / f"{i}.geojson").read_text())["features"]
        check(len(features) == areas["classes"][1]["objects"], f"{i}: {len(features)} polygons, {areas}")
        total = 0
        for feature in features:
            shape = feature["geometry"]
            for polygon in shape["coordinates"] if shape["type"] == "MultiPolygon" else [shape["coordinates"]]:
                check(ring_area(polygon[0]) > 0 and all(ring_area(hole) < 0 for hole in polygon[1:]), f"{i}: a ring runs the wrong way")
                total += sum(ring_area(ring) for ring in polygon)
        own = [annotation for annotation in coco["annotations"] if annotation["image_id"] == i + 1]
        check(total == counts[1] == sum(annotation["area"] for annotation in own) and len(own) == len(features), f"{i}: areas differ")
        objects += len(own)
        for name in ("overlay", "outlines"):
            wide, high, _ = read_png(out / f"{i}_{name}.png")
            check(wide >= 40 and high > 32, f"{name} of {i} has no legend: {wide} x {high}")
    check(objects > 0, "no object was found in any image")
    print(f"8 images, {objects} objects: masks, areas, GeoJSON and COCO agree")


def peak_of(run, image, out, *overrides):
    """Peak bytes of predict, and the mask it wrote."""
    sets = [word for text in overrides for word in ("--set", text)]
    process = subprocess.Popen([program(), "predict", "-w", str(run), str(image), "-o", str(out), *sets], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, errors)
    return usage.ru_maxrss * 1024, (out / f"{image.stem}.png").read_bytes()


def huge(folder, run):
    small, _ = peak_of(run, folder / "data/images/0.png", folder / "small")
    for bits in (8, 16):
        image = folder / f"large{bits}.png"
        write_large(image, bits)
        peak, mask = peak_of(run, image, folder / "auto")
        _, asked = peak_of(run, image, folder / "asked", "eval.window.size=64", "eval.window.batch=64")
        check(mask == asked, f"{bits} bits: automatic windows are not those of the training crop's size")
        pixels, classes = WIDTH * HEIGHT * bits // 8, 2 * WIDTH * HEIGHT
        beside = peak - small - pixels - classes
        print(f"{bits} bits: {peak / MEGABYTE:.0f} MB for {pixels / MEGABYTE:.0f} MB of pixels; {beside / MEGABYTE:.0f} MB are neither pixels nor classes nor the program")
        check(beside < 150 * MEGABYTE, f"{bits} bits: memory grows with the image")


def main():
    with Folder() as folder:
        for i in range(8):
            inside = lambda y, x, i=i: (y - 16 - i % 5) ** 2 + (x - 20 + i % 7) ** 2 < 60 and not (y + x) % 37 == i
            write_png(folder / "data/images" / f"{i}.png", 40, 32, lambda y, x: 200 if inside(y, x) else 30 + x)
            write_png(folder / "data/masks" / f"{i}.png", 40, 32, lambda y, x: 255 if inside(y, x) else 0)
        run = folder / "run"
        tessera("train", "data.type=pairs", f"data.path={folder}/data", "data.labels.binary=true", "data.train.transforms=[{random_crop: {size: 64}}]",
                "model.unet.channels=[4,8]", "train.duration=60ba", "train.batch_size=4", "optimizer.lr=0.02", "run.pictures=0", f"run.dir={run}")
        outputs(folder, run)
        huge(folder, run)


if __name__ == "__main__":
    main()
