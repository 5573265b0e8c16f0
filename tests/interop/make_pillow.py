"""Writes pillow/{decode,masks,resize}.json: how Pillow decodes and resizes small images of many kinds.

Usage: make_pillow.py OUTPUT_FOLDER. Pixels come from integer formulas, so nothing depends on the machine.
"""
import base64
import io
import json
import pathlib
import struct
import sys
import zlib

import numpy as np
from PIL import Image, ImageOps

H, W = 17, 22


def b64(data):
    return base64.b64encode(bytes(data)).decode()


def pattern(channels, height=H, width=W):
    """The picture both sides can make: smooth slopes, a texture and full-range corners."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    values = (x * 9 + y * 5 + c * 60 + (x * y * (c + 1)) % 13 * 6) % 256
    return values.astype(np.uint8)


def grey():
    return Image.fromarray(pattern(1)[:, :, 0])


def rgb():
    return Image.fromarray(pattern(3))


def palette_image():
    image = Image.fromarray((pattern(1)[:, :, 0] % 7).astype(np.uint8), "P")
    image.putpalette([v for i in range(7) for v in (i * 36, 255 - i * 30, (i * 91) % 256)])
    return image


def encode(image, fmt, **options):
    out = io.BytesIO()
    image.save(out, fmt, **options)
    return out.getvalue()


def orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return exif


def oriented(value):
    return encode(rgb(), "JPEG", quality=90, exif=orientation(value))


def oddities():
    """JPEGs that make libjpeg warn, though every pixel is there: bytes that belong to no segment (before the end, the frame header
    and a restart marker), spectral limits of a progressive scan in a sequential one, a JFIF version of the future."""
    plain, restarts = (encode(rgb(), "JPEG", quality=85, **options) for options in ({"subsampling": 2}, {"restart_marker_blocks": 1}))
    for name, data, place in (("end", plain, len(plain) - 2), ("frame", plain, plain.index(b"\xff\xc0")),
                              ("restart", restarts, restarts.index(b"\xff\xd0"))):
        yield f"jpeg_bytes_before_{name}", data[:place] + b"\x11\x00\x22" + data[place:]
    limits = plain.index(b"\xff\xda") + 11
    yield "jpeg_spectral_limits", plain[:limits] + b"\0\0\0" + plain[limits + 3:]
    version = plain.index(b"JFIF\0") + 5
    yield "jpeg_jfif_9", plain[:version] + b"\x09" + plain[version + 1:]
    adobe = encode(Image.fromarray(pattern(4), "CMYK"), "JPEG", quality=90)
    transform = adobe.index(b"Adobe") + 11
    yield "jpeg_adobe_7", adobe[:transform] + b"\x07" + adobe[transform + 1:]


def late_exif(value):
    """The chunk behind the pixels, where it may lie too, with the signature that only a JPEG should have."""
    data = encode(rgb(), "PNG")
    return data[:-12] + chunk(b"eXIf", orientation(value).tobytes()) + data[-12:]


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(depth, color, rows, interlaced=False, extra=b"", width=W, height=H):
    """Pillow writes neither interlaced nor 16-bit RGB files: this does. `rows` are unfiltered lines of every pass."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 1 if interlaced else 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def adam7(array):
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = array[y0::dy, x0::dx]
        if part.size:
            for row in part:
                yield row.tobytes()


def packed(array, bits):
    """Rows of values below 2**bits, most significant first."""
    for row in array:
        line = "".join(format(int(v), f"0{bits}b") for v in row)
        line += "0" * (-len(line) % 8)
        yield int(line, 2).to_bytes(len(line) // 8, "big")


def eight_bit_files():
    yield "png_l", encode(grey(), "PNG")
    yield "png_rgb", encode(rgb(), "PNG")
    yield "png_rgba", encode(Image.fromarray(pattern(4)), "PNG")
    yield "png_la", encode(Image.fromarray(pattern(2), "LA"), "PNG")
    yield "png_p", encode(palette_image(), "PNG", bits=8)
    yield "png_p4", encode(palette_image(), "PNG", bits=4)
    yield "png_p_transparent", encode(palette_image(), "PNG", transparency=2)
    yield "png_1", encode(grey().point(lambda v: 255 * (v > 90)).convert("1"), "PNG")
    yield "png_l2", png(2, 0, packed(pattern(1)[:, :, 0] >> 6, 2))
    yield "png_l4", png(4, 0, packed(pattern(1)[:, :, 0] >> 4, 4))
    yield "png_interlaced_l", png(8, 0, adam7(pattern(1)), True)
    yield "png_interlaced_rgb", png(8, 2, adam7(pattern(3)), True)
    yield "png_one_pixel", encode(Image.fromarray(pattern(3)[:1, :1].copy()), "PNG")
    yield "jpeg_l", encode(grey(), "JPEG", quality=90)
    yield "jpeg_420", encode(rgb(), "JPEG", quality=85, subsampling=2)
    yield "jpeg_422", encode(rgb(), "JPEG", quality=85, subsampling=1)
    yield "jpeg_444", encode(rgb(), "JPEG", quality=95, subsampling=0)
    yield "jpeg_progressive", encode(rgb(), "JPEG", quality=80, progressive=True)
    yield "jpeg_restart", encode(rgb(), "JPEG", quality=80, restart_marker_blocks=1)
    yield "jpeg_rgb", encode(rgb(), "JPEG", quality=90, keep_rgb=True)
    cmyk = encode(Image.fromarray(pattern(4), "CMYK"), "JPEG", quality=90)
    yield "jpeg_cmyk", cmyk
    adobe = cmyk.index(b"Adobe") + 11  # the transform byte: 2 says YCCK
    yield "jpeg_ycck", cmyk[:adobe] + b"\x02" + cmyk[adobe + 1:]
    for value in range(2, 9):
        yield f"jpeg_oriented_{value}", oriented(value)
        yield f"png_oriented_{value}", encode(rgb(), "PNG", exif=orientation(value))
    yield "png_oriented_late", late_exif(6)
    yield "png_p4_oriented", encode(palette_image(), "PNG", bits=4, exif=orientation(8))
    yield from oddities()
    yield "tiff_l", encode(grey(), "TIFF")
    yield "tiff_rgb_lzw", encode(rgb(), "TIFF", compression="tiff_lzw")
    yield "tiff_rgb_deflate", encode(rgb(), "TIFF", compression="tiff_adobe_deflate")
    yield "tiff_rgb_packbits", encode(rgb(), "TIFF", compression="packbits")
    yield "tiff_rgb_zstd", encode(rgb(), "TIFF", compression="zstd")
    yield "tiff_rgba", encode(Image.fromarray(pattern(4)), "TIFF")
    yield "tiff_la", encode(Image.fromarray(pattern(2), "LA"), "TIFF")
    yield "tiff_p", encode(palette_image(), "TIFF")
    yield "tiff_1_group4", encode(grey().point(lambda v: 255 * (v > 90)).convert("1"), "TIFF", compression="group4")
    yield "tiff_l_min_is_white", encode(grey(), "TIFF", tiffinfo={262: 0})
    yield "tiff_cmyk", encode(Image.fromarray(pattern(4), "CMYK"), "TIFF")
    yield "tiff_jpeg_ycbcr", encode(rgb(), "TIFF", compression="jpeg", quality=90)
    yield "tiff_oriented_6", encode(rgb(), "TIFF", tiffinfo={274: 6})


def decoded(name, data):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    return {"name": name, "file": b64(data), "height": image.height, "width": image.width, "max_value": 255,
            "grey": b64(image.convert("L").tobytes()), "rgb": b64(image.convert("RGB").tobytes())}


def deep(name, data, values, max_value):
    """Files deeper than 8 bits: the values as little-endian floats, all channels."""
    values = np.asarray(values, dtype="<f4")
    channels = 1 if values.ndim == 2 else values.shape[2]
    return {"name": name, "file": b64(data), "height": values.shape[0], "width": values.shape[1], "max_value": max_value,
            "channels": channels, "values": b64(values.tobytes())}


def deep_files():
    wide = pattern(1)[:, :, 0].astype(np.uint16) * 257 - pattern(1)[::-1, :, 0]
    image = Image.fromarray(wide)
    assert image.mode == "I;16"
    for name, data in (("png_16", encode(image, "PNG")), ("tiff_16", encode(image, "TIFF")),
                       ("tiff_16_lzw", encode(image, "TIFF", compression="tiff_lzw"))):
        yield deep(name, data, np.array(Image.open(io.BytesIO(data))), 65535)
    colour = pattern(3).astype(np.uint16) * 256 + pattern(3)[::-1]
    yield deep("png_rgb_16", png(16, 2, colour.astype(">u2")), colour, 65535)
    yield deep("png_interlaced_rgb_16", png(16, 2, adam7(colour.astype(">u2")), True), colour, 65535)
    real = pattern(1)[:, :, 0].astype(np.float32) / 64 - 1
    for name, data in (("tiff_float", encode(Image.fromarray(real), "TIFF")),
                       ("tiff_float_deflate", encode(Image.fromarray(real), "TIFF", compression="tiff_adobe_deflate"))):
        yield deep(name, data, np.array(Image.open(io.BytesIO(data))), 1)
    signed = Image.fromarray(pattern(1)[:, :, 0].astype(np.int32) * 65537 - 40000)
    data = encode(signed, "TIFF")
    yield deep("tiff_int32", data, np.array(Image.open(io.BytesIO(data))), 2147483647)


def stack_files():
    pages = [Image.fromarray(pattern(5)[:, :, i].copy()) for i in range(5)]
    data = encode(pages[0], "TIFF", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    yield {"name": "tiff_pages", "file": b64(data), "height": H, "width": W, "channels": 5, "pixels": b64(pattern(5).tobytes())}


def mask_files():
    index = pattern(1)[:, :, 0] % 7
    wide = pattern(1)[:, :, 0].astype(np.uint16) * 3
    colour = pattern(3)
    packed_colour = (colour.astype(np.int32) << np.array([16, 8, 0])).sum(axis=2)
    bits = (pattern(1)[:, :, 0] > 90).astype(np.uint8)
    one = Image.fromarray(bits * 255).convert("1")
    cases = (("palette", encode(palette_image(), "PNG"), index), ("palette_tiff", encode(palette_image(), "TIFF"), index),
             ("grey", encode(grey(), "PNG"), pattern(1)[:, :, 0]), ("grey_tiff", encode(grey(), "TIFF"), pattern(1)[:, :, 0]),
             ("grey_16", encode(Image.fromarray(wide), "PNG"), wide), ("grey_16_tiff", encode(Image.fromarray(wide), "TIFF"), wide),
             ("one_bit", encode(one, "PNG"), bits), ("rgb", encode(rgb(), "PNG"), packed_colour),
             ("two_bit", png(2, 0, packed(index % 4, 2)), index % 4))
    for name, data, values in cases:
        yield {"name": name, "file": b64(data), "values": b64(np.asarray(values, dtype="<i4").tobytes())}


SIZES = ((17, 22), (17, 11), (5, 22), (8, 12), (3, 5), (1, 1), (34, 46), (31, 50), (40, 9), (6, 41))


def two_steps(source, h, w):
    # Width first. Pillow up to 12 always works so; later ones take the height first where that is cheaper, and round otherwise.
    bilinear = Image.Resampling.BILINEAR
    return source.resize((w, source.height), bilinear).resize((w, h), bilinear)


def resized():
    for channels in (1, 3):
        source = Image.fromarray(pattern(channels)[:, :, 0] if channels == 1 else pattern(3))
        for h, w in SIZES:
            yield {"channels": channels, "height": h, "width": w,
                   "pixels": b64(two_steps(source, h, w).tobytes())}


def resized_floats():
    source = Image.fromarray(pattern(1)[:, :, 0].astype(np.float32) * 257 - 1000)
    for h, w in SIZES:
        values = np.array(two_steps(source, h, w)).astype("<f4")
        yield {"height": h, "width": w, "values": b64(values.tobytes())}


def resized_labels():
    # Which source column each target column takes, for many pairs of sizes: nearest is the same along both axes.
    for source in (1, 2, 3, 5, 6, 10, 23, 64, 100):
        line = Image.fromarray(np.arange(source, dtype=np.int32)[None, :].repeat(2, 0))
        for target in (1, 2, 3, 4, 5, 7, 9, 12, 15, 23, 50, 64, 99, 150):
            taken = np.array(line.resize((target, 2), Image.Resampling.NEAREST))[0]
            yield {"source": source, "target": target, "taken": taken.tolist()}


def main(folder):
    out = pathlib.Path(folder) / "pillow"
    out.mkdir(parents=True, exist_ok=True)
    decode = {"images": [decoded(n, d) for n, d in eight_bit_files()], "deep": list(deep_files()), "stacks": list(stack_files())}
    masks = {"masks": list(mask_files())}
    resize = {"bytes": list(resized()), "floats": list(resized_floats()), "labels": list(resized_labels())}
    for name, content in (("decode", decode), ("masks", masks), ("resize", resize)):
        text = json.dumps(content, separators=(",", ":")).replace('},{"', '},\n{"')
        (out / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
