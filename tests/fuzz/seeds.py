"""First inputs for the fuzz targets: python3 tests/fuzz/seeds.py FOLDER TARGET... writes them to FOLDER/corpus_TARGET."""
import base64
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/interop/fixtures"


def as_bytes(value):
    return base64.b64decode(value) if isinstance(value, str) else bytes(value)


def weights(kind):
    for name, content in json.loads((FIXTURES / "weight_files.json").read_text()).items():
        if (kind == "pth") == name.endswith((".pth", ".pt", ".ckpt", ".pkl")):
            yield name, base64.b64decode(content)


def config():
    for path in sorted((ROOT / "configs").rglob("*.yaml")):
        yield path.name, path.read_bytes()
    yield "alias", b"a: &a [1, 2]\nb: [*a, *a]\nc: {<<: *a}\nd: \"${X:-y}\"\n"


def coco():
    fixture = json.loads((FIXTURES / "pycocotools.json").read_text())
    content = fixture["data_set"]["json"]
    yield "whole", (content if isinstance(content, str) else json.dumps(content)).encode()
    for i, item in enumerate(fixture["polygons"]):
        yield f"polygons-{i}", json.dumps(item["polygons"]).encode()
    for i, item in enumerate(fixture["rle"]):
        yield f"rle-{i}", json.dumps({"size": [item["height"], item["width"]], "counts": item["string"]}).encode()


def shards(kind):
    for name, content in json.loads((FIXTURES / "records.json").read_text())["files"].items():
        if (kind == "tar") == (".tar" in name):
            yield name, base64.b64decode(content)


def rle():
    for i, item in enumerate(json.loads((FIXTURES / "pycocotools.json").read_text())["rle"]):
        yield f"{i}", bytes([(item["height"] - 1) % 64, (item["width"] - 1) % 64]) + item["string"].encode()


def labelme():
    for i, shape in enumerate(json.loads((FIXTURES / "drawn_shapes.json").read_text())[:40]):
        shapes = [{"label": "a", "points": shape["points"], "shape_type": shape["kind"]}] * (1 + i % 2)
        yield f"{i}", json.dumps({"version": "5.5.0", "shapes": shapes}).encode()


def s3_xml():
    yield "list", (b'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true'
                   b"</IsTruncated><Contents><Key>a/b &amp; c.mds</Key><Size>5</Size></Contents><NextContinuationToken>1/x=</NextContinuationToken>"
                   b"</ListBucketResult>")
    yield "upload", b"<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>VXBsb2Fk</UploadId></InitiateMultipartUploadResult>"
    yield "error", b"<Error><Code>SlowDown</Code><Message>Please reduce your &#x72;ate.</Message></Error>"
    yield "entities", b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><Error><Code>&b;</Code></Error>'
    yield "data", b"<ListBucketResult><Contents><Key><![CDATA[x]]></Key></Contents></ListBucketResult>"


def lists():
    yield "plain", b"a\nb\nfolder/c.png\nimage 1\n"
    yield "windows", b"\xef\xbb\xbfa\r\n\r\n b\t\r\n"


def images():
    for path in [*sorted((FIXTURES / "pillow").glob("*.json")), FIXTURES / "formats.json"]:
        content = json.loads(path.read_text())
        groups = content.values() if isinstance(content, dict) else [content]
        for group in groups:
            for entry in group if isinstance(group, list) else []:
                if isinstance(entry, dict) and "file" in entry:
                    yield f"{path.stem}-{entry.get('name', id(entry))}", as_bytes(entry["file"])


def jpeg():
    """JPEGs among them behind the four bytes that choose a window, as fuzz_jpeg.cpp takes them apart."""
    for name, content in images():
        if content.startswith(b"\xff\xd8"):
            yield f"{name}-whole", b"\x00\xff\x00\xff" + content
            yield f"{name}-part", b"\x40\x80\x50\xa0" + content


def mds():
    """An index as it is; of shards the columns' number and the count of samples before them, as fuzz_mds.cpp takes them apart."""
    for case in json.loads((FIXTURES / "mds.json").read_text())["cases"]:
        for name, content in case["files"].items():
            data = base64.b64decode(content)
            if name == "index.json":
                yield f"{case['name'].replace(' ', '-')}-index", data
            elif name.endswith(".mds") and len(case["columns"]) == 3:
                yield f"{case['name'].replace(' ', '-')}-{name}", bytes([5 * data[0]]) + data
        if case["name"] == "every encoding":
            for at, kind in enumerate(("array", "pil", "jpeg_array", "list_pil")):
                yield f"value-{kind}", bytes([min(at + 1, 3)]) + b"\x01\x02\x00\x00" * 5


def experiment():
    yield from config()
    yield "lists", b"data: {path: x, augment: [{random_crop: {size: 64}}, {flip: {}}]}\nloss: [{cross_entropy: {weight: 1}}]\n"


def control():
    """Messages that messages_test.cpp reads too: each must be one that launchers send."""
    for path in sorted((ROOT / "tests/fuzz/control_seeds").glob("*.json")):
        yield path.stem, path.read_bytes()


def sealed():
    nonce, code = b"a" * 64, b"b" * 64
    yield "caller", b"\xff" + nonce + b" " + code + b"\n" + code + b' {"hello":{}}\n'
    yield "listener", b"\x40" + nonce + b"\n" + code + b" \n" + code + b' {"kind":0}\nrefused\n'
    yield "web", b"\x01GET / HTTP/1.1\r\n\r\n"
    yield "long", b"\xff" + b"[" * 9000 + b"\n"


def main():
    makers = {"pth": lambda: weights("pth"), "safetensors": lambda: weights("safetensors"), "config": config, "coco": coco,
              "lists": lists, "images": images, "jpeg": jpeg, "control": control, "experiment": experiment, "sealed": sealed, "mds": mds,
              "tfrecord": lambda: shards("tfrecord"), "tar": lambda: shards("tar"), "rle": rle, "labelme": labelme, "s3_xml": s3_xml}
    for target in sys.argv[2:]:
        for name, content in makers[target]():
            (pathlib.Path(sys.argv[1]) / f"corpus_{target}" / f"seed-{name}").write_bytes(content)


if __name__ == "__main__":
    main()
