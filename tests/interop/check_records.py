"""Others read the shards that our tests wrote: check_records.py FOLDER. TensorBoard's reader of records and protobuf the TFRecord file,
webdataset and Python's tarfile the tar file. With tensorflow installed it reads the TFRecord file too."""
import base64
import json
import pathlib
import sys
import tarfile

import webdataset
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

from tf_example import Example

FIXTURE = pathlib.Path(__file__).parent / "fixtures/records.json"


def expected():
    for sample in json.loads(FIXTURE.read_text())["samples"]:
        yield sample["id"], base64.b64decode(sample["image"]), base64.b64decode(sample["labels"])


def records(path):
    reader = PyRecordReader_New(str(path))
    while True:
        try:
            reader.GetNext()
        except Exception as end:  # the reader's own class, which says so by its text
            assert type(end).__name__ == "OutOfRangeError", end
            return
        yield reader.record()


def tfrecord_samples(path):
    for record in records(path):
        features = Example.FromString(record).features.feature
        yield tuple(features[name].bytes_list.value[0] for name in ("id", "image", "labels"))


def tensorflow_samples(path):
    import tensorflow as tf
    shape = {name: tf.io.FixedLenFeature([], tf.string) for name in ("id", "image", "labels")}
    for record in tf.data.TFRecordDataset([str(path)]):
        parsed = tf.io.parse_single_example(record, shape)
        yield tuple(parsed[name].numpy() for name in ("id", "image", "labels"))


def main(folder):
    folder = pathlib.Path(folder)
    want = list(expected())
    encoded = [(name.encode(), image, labels) for name, image, labels in want]
    assert list(tfrecord_samples(folder / "ours.tfrecord")) == encoded
    try:
        import tensorflow
        assert list(tensorflow_samples(folder / "ours.tfrecord")) == encoded
        print("tensorflow", tensorflow.__version__, "reads our TFRecord file")
    except ImportError:
        pass
    shard = webdataset.WebDataset(str(folder / "ours.tar"), shardshuffle=False, empty_check=False)
    assert [(s["__key__"], s["jpg"], s["mask.png"]) for s in shard] == want
    with tarfile.open(folder / "ours.tar") as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}
    assert members == {f"{name}.{ending}": content for name, image, labels in want
                       for ending, content in (("jpg", image), ("mask.png", labels))}
    print(len(want), "samples in each shard")


if __name__ == "__main__":
    main(sys.argv[1])
