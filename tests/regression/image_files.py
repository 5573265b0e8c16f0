"""Image files byte by byte, for tests that need kinds which `support.write_png` does not write: JPEG, TIFF, PNG with odd chunks. The standard
library alone."""
import functools
import math
import struct
import zlib


def exif(orientation):
    """An EXIF block that holds an orientation and nothing else."""
    return struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def with_chunk(png, kind, data):
    """The PNG with one chunk more, behind its header."""
    return png[:33] + png_chunk(kind, data) + png[33:]


def rgba_png(width, height, pixel):
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in pixel(y, x)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")


def tiff(width, height, data, bits, samples=1, kind=1):
    """Uncompressed little-endian TIFF of one strip; kind: 1 unsigned, 2 signed, 3 float."""
    lists = 8 + len(data)
    tail = struct.pack(f"<{2 * samples}H", *[bits] * samples, *[kind] * samples)
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, samples, bits if samples == 1 else lists), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
            (277, 3, 1, samples), (278, 4, 1, height), (279, 4, 1, len(data))]
    if samples > 1:
        extra = lists + len(tail)
        tail += struct.pack(f"<{samples - 1}H", *[0] * (samples - 1))
        tags.append((338, 3, samples - 1, extra if samples > 3 else 0))
    tags.append((339, 3, samples, kind if samples == 1 else lists + 2 * samples))
    return (struct.pack("<2sHI", b"II", 42, lists + len(tail)) + data + tail + struct.pack("<H", len(tags)) +
            b"".join(struct.pack("<HHII", *tag) for tag in tags) + struct.pack("<I", 0))


ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8))
COSINES = [[math.cos((2 * x + 1) * u * math.pi / 16) * (math.sqrt(0.125) if u == 0 else 0.5) for x in range(8)] for u in range(8)]
AC_SYMBOLS = [0x00, 0xF0] + [run << 4 | size for run in range(16) for size in range(1, 11)]


def transformed(block):
    """The 64 frequencies of 8 x 8 values, in the order of a JPEG."""
    rows = [[sum(row[x] * COSINES[u][x] for x in range(8)) for u in range(8)] for row in block]
    found = [sum(rows[y][i % 8] * COSINES[i // 8][y] for y in range(8)) for i in range(64)]
    return [found[i] for i in ZIGZAG]


def size_of(value):
    return abs(value).bit_length()


def jpeg(width, height, pixel, components=1, orientation=1, step=4):
    """Baseline JPEG; pixel(y, x) gives one value, (r, g, b) or four inks. Codes of one length each: simple, and rather large. step: of all
    frequencies, 1 keeps nearly everything."""
    bits = []

    def put(value, count):
        bits.append((value, count))

    def number(value):
        size = size_of(value)
        if size:
            put(value if value > 0 else value + (1 << size) - 1, size)

    def values(y, x):
        v = pixel(min(y, height - 1), min(x, width - 1))
        if components == 3:
            r, g, b = v
            return 0.299 * r + 0.587 * g + 0.114 * b, 128 - 0.168736 * r - 0.331264 * g + 0.5 * b, 128 + 0.5 * r - 0.418688 * g - 0.081312 * b
        return (v,) if components == 1 else v

    last = [0] * components
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            block = [[values(top + y, left + x) for x in range(8)] for y in range(8)]
            for c in range(components):
                found = [round(v / step) for v in transformed([[v[c] - 128 for v in row] for row in block])]
                put(size_of(found[0] - last[c]), 4)
                number(found[0] - last[c])
                last[c] = found[0]
                run = 0
                for value in found[1:]:
                    run = run + 1 if value == 0 else run
                    if value == 0:
                        continue
                    while run > 15:
                        put(AC_SYMBOLS.index(0xF0), 8)
                        run -= 16
                    put(AC_SYMBOLS.index(run << 4 | size_of(value)), 8)
                    number(value)
                    run = 0
                if run:
                    put(AC_SYMBOLS.index(0), 8)
    total = functools.reduce(lambda all_bits, part: (all_bits[0] << part[1] | part[0], all_bits[1] + part[1]), bits, (0, 0))
    fill = -total[1] % 8
    data = (total[0] << fill | (1 << fill) - 1).to_bytes((total[1] + fill) // 8, "big").replace(b"\xff", b"\xff\0")

    def segment(marker, body):
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    head = b"\xff\xd8"
    if orientation != 1:
        head += segment(0xE1, b"Exif\0\0" + exif(orientation))
    if components == 4:
        head += segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 0))
    head += segment(0xDB, b"\0" + bytes([step] * 64))
    head += segment(0xC0, struct.pack(">BHHB", 8, height, width, components) + b"".join(bytes([c + 1, 0x11, 0]) for c in range(components)))
    head += segment(0xC4, b"\0" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12)))
    head += segment(0xC4, b"\x10" + bytes([0] * 7 + [len(AC_SYMBOLS)] + [0] * 8) + bytes(AC_SYMBOLS))
    head += segment(0xDA, bytes([components]) + b"".join(bytes([c + 1, 0]) for c in range(components)) + b"\0\x3f\0")
    return head + data + b"\xff\xd9"
