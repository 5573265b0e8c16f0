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


def control():
    yield "hello", b'{"hello": {"protocol": "1", "program": "0.1.0 (a)", "command": "train x", "num_nodes": 4, "node_rank": 3, "ranks": 8, "host": "h3"}}'
    yield "report", b'{"generation": 2, "report": [{"rank": 7, "host": "h3", "pid": 4711, "state": "R", "exit_code": 1, "error": "e"}]}'
    yield "signal", b'{"signal": 15}'
    yield "start", b'{"kind": 0, "exit_code": 0, "text": "t", "generation": 1, "world_size": 8, "first_rank": 4, "num_nodes": 2, "node_rank": 1, "store_port": 29501}'


def main():
    makers = {"pth": lambda: weights("pth"), "safetensors": lambda: weights("safetensors"), "config": config, "coco": coco,
              "lists": lists, "images": images, "control": control}
    for target in sys.argv[2:]:
        for name, content in makers[target]():
            (pathlib.Path(sys.argv[1]) / f"corpus_{target}" / f"seed-{name}").write_bytes(content)


if __name__ == "__main__":
    main()
