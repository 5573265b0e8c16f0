"""Writes records.json: TFRecord and tar shards as others write them, and the samples that lie in them.

Usage: make_records.py OUTPUT_FOLDER. TFRecord files are written by TensorBoard's own writer of records, with tf.train.Example described to
the protobuf library by its public field numbers; tar shards by webdataset and by Python's tarfile in its three formats. Streams are
packed without compression, so that the bytes are those of any zlib.
"""
import base64
import gzip
import io
import json
import pathlib
import sys
import tarfile
import zlib

import webdataset
from PIL import Image
from tensorboard.summary.writer.record_writer import RecordWriter

from tf_example import Example


def picture(kind, value, mode):
    out = io.BytesIO()
    Image.new(mode, (7, 5), value).save(out, kind)
    return out.getvalue()


SAMPLES = [{"id": f"folder/sample {i}", "image": picture("jpeg", (40 * i, 90, 200), "RGB"), "labels": picture("png", i, "L")}
           for i in range(3)]


def example(features):
    message = Example()
    for name, value in features.items():
        feature = message.features.feature[name]
        if isinstance(value, bytes):
            feature.bytes_list.value.append(value)
        elif isinstance(value, int):
            feature.int64_list.value.append(value)
        else:
            feature.float_list.value.extend(value)
    return message.SerializeToString(deterministic=True)


def tfrecord(names, more=None):
    out = io.BytesIO()
    out.close = lambda: None  # the writer closes its file
    writer = RecordWriter(out)
    for sample in SAMPLES:
        values = {names[key]: value.encode() if isinstance(value, str) else value for key, value in sample.items()}
        writer.write(example(values | (more or {})))
    writer.flush()
    return out.getvalue()


def web_shard():
    out = io.BytesIO()
    with webdataset.TarWriter(out, mtime=0, encoder=False) as writer:
        for sample in SAMPLES:
            writer.write({"__key__": sample["id"], "jpg": sample["image"], "seg.png": sample["labels"], "cls": b"3"})
    return out.getvalue()


def tar_shard(kind):
    """With a folder, names that are too long for the old format, and another order of the files."""
    out = io.BytesIO()
    long = "" if kind == tarfile.USTAR_FORMAT else "very long é/" * 14
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for sample in SAMPLES:
            for ending, content in (("png", sample["labels"]), ("JPG", sample["image"])):
                member = tarfile.TarInfo(f"./{long}{sample['id']}.{ending}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def main(folder):
    own = {"image": "image", "labels": "labels", "id": "id"}
    deeplab = {"image": "image/encoded", "labels": "image/segmentation/class/encoded", "id": "image/filename"}
    plain = tfrecord(own)
    packer = zlib.compressobj(0)
    files = {
        "plain.tfrecord": plain,
        "gzip.tfrecord.gz": gzip.compress(plain, 0, mtime=0),
        "zlib.tfrecord": packer.compress(plain) + packer.flush(),
        "deeplab-00000-of-00001": tfrecord(deeplab, {"image/height": 5, "image/channels": 3, "scores": [0.5, 2.0]}),
        "webdataset.tar": web_shard(),
        "webdataset.tar.gz": gzip.compress(web_shard(), 0, mtime=0),
        "ustar.tar": tar_shard(tarfile.USTAR_FORMAT),
        "gnu.tar": tar_shard(tarfile.GNU_FORMAT),
        "pax.tar": tar_shard(tarfile.PAX_FORMAT),
    }
    encode = lambda value: base64.b64encode(value).decode() if isinstance(value, bytes) else value
    result = {"samples": [{key: encode(value) for key, value in sample.items()} for sample in SAMPLES],
              "files": {name: encode(content) for name, content in files.items()}}
    (pathlib.Path(folder) / "records.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
