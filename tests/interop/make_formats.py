"""Writes formats.json: small files of the formats microscopists and radiologists have, and what the libraries they trust read from them.

Usage: make_formats.py OUTPUT_FOLDER. Files are written and read by tifffile, Pillow, NumPy and pydicom; pixels come from integer formulas, so
nothing depends on the machine.
"""
import base64
import io
import json
import pathlib
import sys

import numpy as np
import pydicom
import pydicom.encaps
import pydicom.pixels
import tifffile
from PIL import Image, ImageOps
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian, JPEG2000Lossless, JPEGBaseline8Bit, RLELossless

H, W = 6, 9


def b64(data):
    return base64.b64encode(bytes(data)).decode()


def values(count, dtype=np.uint8, height=H, width=W):
    """(count, height, width): planes that all differ."""
    n, y, x = np.meshgrid(np.arange(count), np.arange(height), np.arange(width), indexing="ij")
    return ((x * 9 + y * 5 + n * 37 + (x * y * (n + 1)) % 13 * 6) % 256 * (1 if dtype == np.uint8 else 257)).astype(dtype)


def picture(name, data, pixels, max_value=255, **choice):
    """`pixels`: (H, W, C) that decoding as C channels, with `choice` of data.image, must give."""
    pixels = np.asarray(pixels)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    return {"name": name, "file": b64(data), "height": pixels.shape[0], "width": pixels.shape[1], "channels": pixels.shape[2],
            "max_value": max_value, "values": b64(pixels.astype("<f4").tobytes()), "choice": choice}


# --- TIFF stacks ---

def tiff(array, **options):
    out = io.BytesIO()
    # No date and version of the library in the file, so that it is the same each time.
    tifffile.imwrite(out, array, software="", **options)
    return out.getvalue()


def series(data):
    """The first picture as (T, Z, C, Y, X), as tifffile understands the metadata."""
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        first = file.series[0]
        array, axes = first.asarray(), first.axes
    for axis in "TZC":
        if axis not in axes:
            array, axes = array[None], axis + axes
    return array.transpose([axes.index(axis) for axis in "TZCYX"])


def stack(name, data, take, max_value=255, **choice):
    """`take`: planes (N, Y, X) of what tifffile reads."""
    return picture(name, data, np.moveaxis(take(series(data)), 0, -1), max_value, **choice)


def ome_files():
    uid = "urn:uuid:00000000-0000-4000-8000-000000000000"
    names = {"Channel": {"Name": ["DAPI", "GFP"]}, "UUID": uid}
    two = tiff(values(2, np.uint16), ome=True, photometric="minisblack", metadata={"axes": "CYX", **names})
    yield stack("ome_two_channels", two, lambda a: a[0, 0], 65535)
    yield stack("ome_one_by_name", two, lambda a: a[0, 0, [1]], 65535, channels=["GFP"])
    yield stack("ome_swapped", two, lambda a: a[0, 0, [1, 0]], 65535, channels=["gfp", "0"])
    for axes, shape in (("ZCYX", (5, 2)), ("CZYX", (2, 5)), ("TZCYX", (3, 5, 2)), ("CTZYX", (2, 3, 5))):
        planes = values(int(np.prod(shape))).reshape(*shape, H, W)
        data = tiff(planes, ome=True, photometric="minisblack", metadata={"axes": axes, **names})
        label = f"ome_{axes.lower()}"
        t = {"t": "1"} if "T" in axes else {}
        index = 1 if t else 0
        yield stack(f"{label}_middle", data, lambda a: a[index, 2], z="middle", **t)
        yield stack(f"{label}_max", data, lambda a: a[index].max(axis=0), z="max", **t)
        yield stack(f"{label}_plane_of_one", data, lambda a: a[index, 4, [1]], z="4", channels=["GFP"], **t)
        if not t:
            yield picture(f"{label}_all", data, np.moveaxis(planes.reshape(-1, H, W), 0, -1))
    tiled = tiff(values(4, np.uint16, 17, 20).reshape(2, 2, 17, 20), ome=True, photometric="minisblack", tile=(16, 16), compression="zlib",
                 metadata={"axes": "ZCYX", **names})
    yield stack("ome_tiles_deflate", tiled, lambda a: a[0, 1], 65535, z="1")
    rgb = tiff(np.moveaxis(values(3), 0, -1), ome=True, photometric="rgb", metadata={"axes": "YXS", "UUID": uid})
    yield picture("ome_rgb", rgb, np.moveaxis(values(3), 0, -1))
    yield picture("ome_rgb_green", rgb, values(3)[1], channels=["green"])
    one = tiff(values(1, np.uint16)[0], ome=True, metadata={"axes": "YX", "UUID": uid})
    yield stack("ome_one_plane", one, lambda a: a[0, 0], 65535)
    out = io.BytesIO()
    with tifffile.TiffWriter(out, ome=True) as writer:
        writer.write(values(2), photometric="minisblack", metadata={"axes": "CYX", **names}, software="")
        writer.write(values(1, np.uint16, 5, 6)[0], metadata={"axes": "YX"}, software="")
    yield stack("ome_two_pictures", out.getvalue(), lambda a: a[0, 0])
    # The planes lie in the file in another order than that of their channels.
    shuffled = tifffile.tiffcomment(io.BytesIO(two)).replace('DimensionOrder="XYCZT"', 'DimensionOrder="XYCZT" ')
    assert "<TiffData" in shuffled, shuffled
    start, end = shuffled.index("<TiffData"), shuffled.rindex("<TiffData")
    end = shuffled.index(">", end) + 1
    swapped = shuffled[:start] + '<TiffData FirstC="0" IFD="1"/><TiffData FirstC="1" IFD="0"/>' + shuffled[end:]
    data = tiff(values(2, np.uint16), photometric="minisblack", description=swapped, metadata=None)
    yield stack("ome_shuffled", data, lambda a: a[0, 0], 65535, channels=["DAPI", "GFP"])


def forged_files():
    """Metadata that count the channels of one page and point to another, which has fewer."""
    xml = ('<?xml version="1.0"?><OME><Image><Pixels DimensionOrder="XYCZT" SizeC="6" SizeZ="1" SizeT="1">'
           '<TiffData FirstC="0" IFD="1"/><TiffData FirstC="1" IFD="0"/></Pixels></Image></OME>')
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        writer.write(np.moveaxis(values(3), 0, -1), photometric="rgb", description=xml, metadata=None, software="")
        writer.write(values(1)[0], photometric="minisblack", metadata=None, software="")
    yield {"name": "ome_other_samples", "file": b64(out.getvalue())}


def imagej_files():
    for name, shape in (("tzcyx", (3, 4, 2)), ("zcyx", (1, 4, 2)), ("cyx", (1, 1, 2)), ("zyx", (1, 4, 1)), ("tyx", (3, 1, 1))):
        planes = values(int(np.prod(shape)), np.uint16).reshape(*shape, H, W)
        data = tiff(planes, imagej=True, metadata={"axes": "TZCYX"})
        t, z = {"t": "1"} if shape[0] > 1 else {}, {"z": "2"} if shape[1] > 1 else {}
        at, az = 1 if t else 0, 2 if z else 0
        yield stack(f"imagej_{name}", data, lambda a: a[at, az], 65535, **t, **z)
        yield stack(f"imagej_{name}_max", data, lambda a: a.max(axis=(0, 1)), 65535, t="max", z="max")
    labels = ["Hoechst", "Actin µ"] * 4
    planes = values(8).reshape(4, 2, H, W)
    data = tiff(planes, imagej=True, metadata={"axes": "ZCYX", "Labels": labels})
    yield stack("imagej_by_label", data, lambda a: a[0, 3, [1]], z="3", channels=["Actin µ"])
    yield picture("imagej_all", data, np.moveaxis(planes.reshape(-1, H, W), 0, -1))
    for order in "<>":
        data = tiff(planes.astype(np.float32), imagej=True, byteorder=order, metadata={"axes": "ZCYX"}, truncate=True)
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            assert len(file.pages) == 1
        yield stack(f"imagej_one_directory_{'little' if order == '<' else 'big'}", data, lambda a: a[0, 2], 1, z="2")


# --- Pillow ---

def encode(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def as_pillow(name, data):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    return {"name": name, "file": b64(data), "height": image.height, "width": image.width,
            "rgb": b64(image.convert("RGB").tobytes()), "grey": b64(image.convert("L").tobytes())}


def pillow_files():
    colour, grey = np.moveaxis(values(3), 0, -1).copy(), values(1)[0].copy()
    rgb, levels = Image.fromarray(colour), Image.fromarray(grey)
    palette = Image.fromarray(grey % 7).convert("P")
    palette.putpalette([v for i in range(7) for v in (i * 36, 255 - i * 30, (i * 91) % 256)])
    rgba = Image.fromarray(np.dstack([colour, 255 - grey // 2]))
    yield as_pillow("bmp_rgb", encode(rgb, "BMP"))
    yield as_pillow("bmp_grey", encode(levels, "BMP"))
    yield as_pillow("bmp_palette", encode(palette, "BMP"))
    yield as_pillow("bmp_one_bit", encode(levels.point(lambda v: 255 * (v > 90)).convert("1"), "BMP"))
    yield as_pillow("bmp_rgba", encode(rgba, "BMP"))
    data = encode(rgb, "BMP")
    stride = (3 * W + 3) // 4 * 4
    rows = [data[54 + y * stride:54 + (y + 1) * stride] for y in range(H)]
    yield as_pillow("bmp_from_above", data[:22] + (-H).to_bytes(4, "little", signed=True) + data[26:54] + b"".join(reversed(rows)))
    exif = Image.Exif()
    exif[0x0112] = 6
    yield as_pillow("webp_lossless", encode(rgb, "WEBP", lossless=True))
    yield as_pillow("webp_lossy", encode(rgb, "WEBP", quality=80))
    yield as_pillow("webp_rgba", encode(rgba, "WEBP", lossless=True, exact=True))
    yield as_pillow("webp_oriented", encode(rgb, "WEBP", lossless=True, exif=exif))
    yield as_pillow("jp2_rgb", encode(rgb, "JPEG2000"))
    yield as_pillow("jp2_grey", encode(levels, "JPEG2000"))
    yield as_pillow("j2k_rgb", encode(rgb, "JPEG2000", no_jp2=True))
    yield as_pillow("jp2_tiles", encode(rgb, "JPEG2000", tile_size=(4, 4)))


# --- deep JPEG 2000, NumPy ---

def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def array_files():
    wide = values(1, np.uint16)[0] - values(1)[0]
    data = encode(Image.fromarray(wide), "JPEG2000")
    yield picture("jp2_16", data, np.array(Image.open(io.BytesIO(data))), 65535)
    for dtype, top in ((np.uint8, 255), (np.uint16, 65535), (np.float32, 1), (np.float64, 1), (np.int16, 32767)):
        plane = values(1)[0].astype(dtype)
        if top == 1:
            plane = plane / dtype(256) - dtype(0.25)
        yield picture(f"npy_{np.dtype(dtype).name}", npy(plane), plane, top)
    yield picture("npy_bool", npy(values(1)[0] > 90), (values(1)[0] > 90) * 255)
    stacked = values(5, np.uint16)
    yield picture("npy_chw", npy(stacked), np.moveaxis(stacked, 0, -1), 65535)
    yield picture("npy_hwc", npy(np.ascontiguousarray(np.moveaxis(stacked, 0, -1))), np.moveaxis(stacked, 0, -1), 65535)
    yield picture("npy_fortran", npy(np.asfortranarray(np.moveaxis(stacked, 0, -1))), np.moveaxis(stacked, 0, -1), 65535)
    yield picture("npy_chosen", npy(stacked), np.moveaxis(stacked[[4, 0]], 0, -1), 65535, channels=["4", "0"])


# --- DICOM ---

def dicom(array, syntax=ExplicitVRLittleEndian, photometric="MONOCHROME2", stored=None, frames=1, planar=None, packed=None, **tags):
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = syntax
    meta.MediaStorageSOPClassUID = UID("1.2.840.10008.5.1.4.1.1.7")
    meta.MediaStorageSOPInstanceUID = UID("1.2.3.4")
    meta.ImplementationClassUID = UID("1.2.3.5")
    file = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
    bits = array.dtype.itemsize * 8
    file.SOPClassUID, file.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    file.Rows, file.Columns = array.shape[1:3] if frames > 1 or (planar == 1) else array.shape[:2]
    file.SamplesPerPixel = 3 if photometric.startswith(("RGB", "YBR")) else 1
    file.PhotometricInterpretation = photometric
    file.BitsAllocated, file.BitsStored = bits, stored or bits
    file.HighBit = file.BitsStored - 1
    file.PixelRepresentation = int(array.dtype.kind == "i")
    if file.SamplesPerPixel == 3:
        file.PlanarConfiguration = planar or 0
    if frames > 1:
        file.NumberOfFrames = frames
    # A sequence to step over, with one in itself.
    inner, outer = pydicom.Dataset(), pydicom.Dataset()
    inner.CodeValue = "1"
    outer.PurposeOfReferenceCodeSequence = [inner]
    file.ReferencedImageSequence = [outer]
    for key, value in tags.items():
        setattr(file, key, value)
    order = ">" if syntax == ExplicitVRBigEndian else "<"
    data = array.astype(array.dtype.newbyteorder(order)).tobytes()
    file.PixelData = pydicom.encaps.encapsulate(packed) if packed else data + b"\0" * (len(data) % 2)
    file["PixelData"].VR = "OB" if bits == 8 or packed else "OW"
    if packed:
        file["PixelData"].is_undefined_length = True
    out = io.BytesIO()
    pydicom.dcmwrite(out, file, enforce_file_format=True)
    return out.getvalue()


def real(data):
    """What pydicom reads, in the unit that slope and intercept give."""
    file = pydicom.dcmread(io.BytesIO(data))
    return pydicom.pixels.apply_modality_lut(file.pixel_array, file)


def dicom_files():
    wide, byte = values(1, np.uint16)[0], values(1)[0]
    twelve = (wide >> 4).astype(np.uint16)
    for name, syntax in (("explicit", ExplicitVRLittleEndian), ("implicit", ImplicitVRLittleEndian), ("big", ExplicitVRBigEndian)):
        data = dicom(twelve, syntax, stored=12)
        yield picture(f"dicom_12_{name}", data, real(data), 4095)
    yield picture("dicom_8", dicom(byte), real(dicom(byte)))
    yield picture("dicom_16", dicom(wide), real(dicom(wide)), 65535)
    signed = (wide.astype(np.int32) - 32768).astype(np.int16)
    yield picture("dicom_signed", dicom(signed), real(dicom(signed)), 32767)
    data = dicom(twelve, stored=12, RescaleSlope="2.5", RescaleIntercept="-1024", Modality="CT")
    yield picture("dicom_rescaled", data, real(data), 1)
    data = dicom(twelve, stored=12, photometric="MONOCHROME1")
    yield picture("dicom_inverted", data, 4095 - real(data).astype(np.int32), 4095)
    colour = np.moveaxis(values(3), 0, -1)
    data = dicom(colour, photometric="RGB")
    yield picture("dicom_rgb", data, real(data))
    data = dicom(values(3), photometric="RGB", planar=1)
    yield picture("dicom_rgb_planes", data, real(data))
    frames = values(5, np.uint16)
    data = dicom(frames, frames=5)
    yield picture("dicom_frames", data, np.moveaxis(real(data), 0, -1), 65535)
    yield picture("dicom_frame", data, real(data)[3], 65535, z="3")
    yield picture("dicom_frames_max", data, real(data).max(axis=0), 65535, z="max")
    plain = pydicom.dcmread(io.BytesIO(dicom(wide)))
    plain.compress(RLELossless, encoding_plugin="pydicom", generate_instance_uid=False)
    out = io.BytesIO()
    pydicom.dcmwrite(out, plain)
    yield picture("dicom_rle", out.getvalue(), real(out.getvalue()), 65535)
    packed = encode(Image.fromarray(wide), "JPEG2000", no_jp2=True)
    data = dicom(wide, JPEG2000Lossless, packed=[packed])
    yield picture("dicom_jpeg2000", data, real(data), 65535)
    packed = encode(Image.fromarray(byte), "JPEG", quality=95)
    data = dicom(byte, JPEGBaseline8Bit, packed=[packed])
    yield picture("dicom_jpeg", data, real(data))


def mask_files():
    index = (values(1)[0] % 7).astype(np.int64)
    wide = values(1)[0].astype(np.int64) * 3
    palette = Image.fromarray(index.astype(np.uint8)).convert("P")
    palette.putpalette([v for i in range(7) for v in (i * 36, 255 - i * 30, (i * 91) % 256)])
    uid = {"UUID": "urn:uuid:00000000-0000-4000-8000-000000000000"}
    cases = [(f"npy_{name}", npy(index.astype(name)), index, 8) for name in ("uint8", "int32", "int64", "uint64", "int16")]
    cases += [("npy_bool", npy(index > 2), index > 2, 1), ("npy_wide", npy(wide), wide, 16), ("npy_uint16", npy(index.astype(np.uint16)), index, 16),
              ("bmp_palette", encode(palette, "BMP"), index, 8), ("bmp_grey", encode(Image.fromarray(values(1)[0]), "BMP"), values(1)[0], 8),
              ("ome", tiff(wide.astype(np.uint16), ome=True, metadata={"axes": "YX", **uid}), wide, 16),
              ("imagej", tiff(wide.astype(np.uint16), imagej=True), wide, 16), ("dicom", dicom(wide.astype(np.uint16)), wide, 16),
              ("webp", encode(Image.fromarray(index.astype(np.uint8)).convert("RGB"), "WEBP", lossless=True), index * 0x010101, 8)]
    for name, data, labels, bits in cases:
        yield {"name": name, "file": b64(data), "bits": bits, "values": b64(np.asarray(labels).astype("<i4").tobytes())}


def main(folder):
    content = {"stacks": [*ome_files(), *imagej_files()], "pillow": list(pillow_files()), "arrays": list(array_files()),
               "dicom": list(dicom_files()), "masks": list(mask_files()), "forged": list(forged_files())}
    text = json.dumps(content, separators=(",", ":")).replace('},{"', '},\n{"')
    (pathlib.Path(folder) / "formats.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
