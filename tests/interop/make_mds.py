"""Writes mds.json: shards that mosaicml-streaming's MDSWriter made, what went in, and what its reader makes of every value.

Usage: make_mds.py OUTPUT_FOLDER. All values come from integer formulas. GZIP files are made without the time of day, the one thing in
them that would differ from day to day.
"""
import base64
import decimal
import gzip
import hashlib
import io
import json
import pathlib
import sys
import tempfile

import numpy as np
from PIL import Image
from streaming import MDSWriter
from streaming.base import compression as streaming_compression
from streaming.base.format.mds.encodings import mds_encode
from streaming.base.format.mds.reader import MDSReader
from streaming.base.hashing import get_hashes

H, W = 3, 5


def b64(data):
    return base64.b64encode(bytes(data)).decode()


def pattern(channels, seed=0):
    y, x, c = np.meshgrid(np.arange(H), np.arange(W), np.arange(channels), indexing="ij")
    return ((x * 37 + y * 11 + c * 71 + seed * 13) % 256).astype(np.uint8)


def encode(image, kind):
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def picture(mode, seed):
    if mode in ("L", "RGB", "RGBA", "LA"):
        return Image.fromarray(pattern(len(mode), seed).squeeze(), mode)
    if mode == "P":
        image = Image.fromarray(pattern(1, seed)[:, :, 0] % 4, "P")
        image.putpalette([0, 0, 0, 200, 0, 0, 0, 200, 0, 0, 0, 200])
        return image
    grey = pattern(1, seed)[:, :, 0]
    if mode == "1":
        return Image.fromarray(grey > 100)
    kinds = {"I;16": np.uint16, "I": np.int32, "F": np.float32}
    return Image.fromarray((grey.astype(np.int64) * 3).astype(kinds[mode]))


MODES = ["L", "RGB", "1", "RGBA", "LA", "P", "I;16", "I", "F"]
NUMBERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def every_encoding():
    columns = {"bytes": "bytes", "str": "str", "json": "json", "int": "int", "str_int": "str_int", "str_float": "str_float",
               "str_decimal": "str_decimal", "pil": "pil", "jpeg": "jpeg", "png": "png", "jpeg_array": "jpeg_array",
               "list_pil": "list[pil]", "list_jpeg": "list[jpeg]", "list_png": "list[png]", "array": "ndarray",
               "array_typed": "ndarray:uint8", "array_fixed": "ndarray:uint16:3,5", "array_float": "ndarray:float32:2,2",
               "naïve \"name\"": "str"} | {name: name for name in NUMBERS}
    samples = []
    for i, mode in enumerate(MODES):
        rgb = Image.fromarray(pattern(3, i))
        jpegs = [encode(Image.fromarray(pattern(3, i + k)), "JPEG") for k in range(1 + i % 2)]
        sample = {
            "bytes": bytes(range(i, 3 * i)), "str": f"größe {i}", "json": {"i": i, "of": [1, None]}, "int": -i, "str_int": 10**30 + i,
            "str_float": i / 7, "str_decimal": decimal.Decimal("3.140") + i, "pil": picture(mode, i), "jpeg": rgb, "png": rgb,
            "jpeg_array": jpegs, "list_pil": [rgb], "list_jpeg": [rgb, rgb], "list_png": [rgb] * (i % 3),
            "array": (pattern(2, i) * [1, 2]).astype(NUMBERS[i]), "array_typed": pattern(3, i), "array_fixed": pattern(1, i)[:, :, 0] * np.uint16(9),
            "array_float": np.float32([[i, 0.5], [-1, 2]]), "naïve \"name\"": "ok"}
        for k, name in enumerate(NUMBERS):
            info = np.finfo(name) if "float" in name else np.iinfo(name)
            sample[name] = [info.min, info.max, getattr(np, name)(i + k)][i % 3]
        samples.append(sample)
    return {"columns": columns, "samples": samples}


def three_columns(count, jpeg="jpeg"):
    samples = []
    for i in range(count):
        mask = Image.fromarray(pattern(1, i)[:, :, 0] % 5)
        samples.append({"uid": f"ADE_{i:04}".encode(), "x": encode(Image.fromarray(pattern(3, i)), "JPEG"), "y": encode(mask, "PNG")})
    return {"columns": {"uid": "bytes", "x": jpeg, "y": "png"}, "samples": samples}


def describe(encoding, raw, value):
    """sha1: of the bytes; number or text or pixels: what they mean."""
    told = {"sha1": hashlib.sha1(raw).hexdigest()}
    name = encoding.split(":")[0]
    if name in NUMBERS or name == "int":
        told["number"] = float(value) if "float" in name else int(value)
    elif name in ("str", "str_int", "str_float", "str_decimal", "json"):
        told["text"] = raw.decode()
    elif name == "ndarray":
        told["text"] = f"{value.dtype} ({', '.join(map(str, value.shape))})"
        if value.dtype.name in ("uint8", "uint16"):
            told["pixels"] = value.astype(int).tolist()
    elif name == "pil":
        told["text"] = f"{value.mode} {value.size[0]} x {value.size[1]}"
        pixels = np.array(value.convert("L") if value.mode == "1" else value.getchannel(0) if value.mode == "LA" else value.convert("RGB") if value.mode == "RGBA" else value)
        told["pixels"] = pixels.astype(int).tolist()
    elif name.startswith("list") or name == "jpeg_array":
        told["count"] = len(value)
    return told


def write(case, folder, **options):
    with MDSWriter(out=str(folder), columns=case["columns"], **options) as writer:
        for sample in case["samples"]:
            writer.write(sample)


def made(name, case, **options):
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "out"
        write(case, folder, **options)
        index = json.loads((folder / "index.json").read_text())
        files = {path.name: b64(path.read_bytes()) for path in sorted(folder.iterdir())}
        read = []
        for shard in index["shards"]:
            stored = shard["zip_data"] or shard["raw_data"]
            raw = streaming_compression.decompress(shard["compression"], (folder / stored["basename"]).read_bytes())
            (folder / shard["raw_data"]["basename"]).write_bytes(raw)
            reader = MDSReader.from_json(str(folder), None, shard)
            read += [reader[i] for i in range(len(reader))]
    told = []
    for before, after in zip(case["samples"], read, strict=True):
        told.append({column: describe(encoding, mds_encode(encoding, before[column]), after[column])
                     for column, encoding in case["columns"].items()})
    return {"name": name, "options": options, "columns": case["columns"], "files": files, "samples": told}


def main(folder):
    real = gzip.compress
    streaming_compression.gzip.compress = lambda data, level: real(data, level, mtime=0)
    cases = [made("every encoding", every_encoding(), size_limit=1 << 14)]
    hashes = sorted(get_hashes())
    compressions = [None, "br", "br:4", "bz2", "bz2:1", "gz", "gz:1", "snappy", "zstd", "zstd:19"]
    for i, name in enumerate(compressions):
        some = hashes[i::len(compressions)]
        cases.append(made(f"compression {name}", three_columns(3), compression=name, hashes=some, size_limit=2000))
    cases.append(made("all hashes", three_columns(2), hashes=hashes))
    cases.append(made("one shard", three_columns(3, "bytes"), size_limit=None))
    text = json.dumps({"cases": cases, "hashes": hashes}, sort_keys=True).replace('{"columns"', '\n{"columns"') + "\n"
    (pathlib.Path(folder) / "mds.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
