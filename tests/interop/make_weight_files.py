"""Tiny weight files of every kind, as the libraries that own the formats write them; base64 in weight_files.json.

Values are integers over 8, so that every type holds them exactly: element i of tensor k is ((7 i + 11 k) mod 31 - 15) / 8.
"""
import base64
import io
import json
import pathlib
import pickle
import pickletools
import sys
import tempfile
import time
from argparse import Namespace
from collections import OrderedDict

import numpy as np
import torch
from safetensors.torch import save_file


def values(shape, k, dtype=torch.float32):
    count = int(np.prod(shape))
    return (((torch.arange(count) * 7 + 11 * k) % 31 - 15).double() / 8).reshape(shape).to(dtype)


def state_dict():
    return OrderedDict([
        ("conv.weight", values((4, 3, 2, 2), 0)),
        ("conv.bias", values((4,), 1)),
        ("bn.running_mean", values((4,), 2)),
        ("bn.num_batches_tracked", torch.tensor(7)),
    ])


def odd_tensors():
    """Types, strides, offsets and sharing."""
    base = values((6, 8), 3)
    out = OrderedDict([(f"type.{str(t)[6:]}", values((3, 2), 4, t))
                       for t in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
                                 torch.int16, torch.int8)])
    out["type.uint8"] = torch.arange(6, dtype=torch.uint8).reshape(3, 2)
    out["type.bool"] = torch.tensor([[True, False], [False, True], [True, True]])
    out["view.rows"] = base[2:4]
    out["view.columns"] = base[:, 3:5]
    out["view.transposed"] = base.t()
    out["view.whole"] = base
    out["channels_last"] = values((2, 3, 4, 5), 5).contiguous(memory_format=torch.channels_last)
    out["empty"] = torch.zeros(0, 4)
    out["scalar"] = torch.tensor(2.5)
    out["parameter"] = torch.nn.Parameter(values((5,), 6))
    return out


class Callback:
    """Stands for the objects that trainers leave in their checkpoints."""

    def __init__(self):
        self.best = 3


def saved(thing, **options):
    out = io.BytesIO()
    torch.save(thing, out, **options)
    return out.getvalue() if options.get("_use_new_zipfile_serialization", True) else renumbered(out.getvalue())


def renumbered(legacy):
    """The old format names storages by their address; names by first use make the file the same each time."""
    stream, parts = io.BytesIO(legacy), []
    for _ in range(5):
        start = stream.tell()
        ops = list(pickletools.genops(stream))
        parts.append((legacy[start:stream.tell()], ops))
    addresses = [arg for op, arg, _ in parts[3][1] if op.name == "BINUNICODE" and arg.isdigit() and len(arg) > 9]
    order = pickle.loads(parts[4][0])
    at, storages = stream.tell(), {}
    sizes = storage_sizes(parts[3][1])
    for key in order:
        length = 8 + sizes[key] * int.from_bytes(legacy[at:at + 8], "little")
        storages[key], at = legacy[at:at + length], at + length
    main = parts[3][0]
    names = {a: f"{i:03d}" for i, a in enumerate(addresses)}
    for a, n in names.items():
        main = main.replace(b"X" + len(a).to_bytes(4, "little") + a.encode(), b"X" + len(n).to_bytes(4, "little") + n.encode())
    kept = [a for a in addresses if a in storages]
    keys = pickle.dumps([names[a] for a in kept], protocol=2)
    return b"".join([p for p, _ in parts[:3]] + [main, keys] + [storages[a] for a in kept])


ELEMENT_BYTES = {"DoubleStorage": 8, "LongStorage": 8, "FloatStorage": 4, "IntStorage": 4, "HalfStorage": 2, "BFloat16Storage": 2,
                 "ShortStorage": 2, "CharStorage": 1, "ByteStorage": 1, "BoolStorage": 1}


def storage_sizes(ops):
    """Bytes per element of each storage: the type named before the address (types named before come from the memo)."""
    sizes, memo, last, previous = {}, {}, None, None
    for op, arg, _ in ops:
        if op.name == "GLOBAL" and arg.endswith("Storage"):
            last = arg.split()[1]
        elif op.name in ("BINPUT", "LONG_BINPUT") and previous == "GLOBAL":
            memo[arg] = last
        elif op.name in ("BINGET", "LONG_BINGET") and str(memo.get(arg)).endswith("Storage"):
            last = memo[arg]
        elif op.name == "BINUNICODE" and arg.isdigit() and len(arg) > 9:
            sizes[arg] = ELEMENT_BYTES[last]
        if op.name == "GLOBAL" and not arg.endswith("Storage"):
            previous = "OTHER"
        else:
            previous = op.name
    return sizes


def lightning():
    optimizer = {"state": {0: {"step": torch.tensor(5.0), "exp_avg": values((4, 3, 2, 2), 7)}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
    return {"epoch": 3, "global_step": 120, "pytorch-lightning_version": "2.1.0",
            "state_dict": OrderedDict((f"model.{k}", v) for k, v in state_dict().items()),
            "callbacks": {"ModelCheckpoint": Callback()}, "optimizer_states": [optimizer],
            "hyper_parameters": Namespace(lr=0.1, depth=50), "best": np.float64(0.75), "history": np.arange(6, dtype=np.float32).reshape(2, 3)}


def composer():
    return {"state": {"model": OrderedDict((f"module.{k}", v) for k, v in state_dict().items()),
                      "optimizers": {"SGD": {"state": {"conv.weight": {"momentum_buffer": values((4, 3, 2, 2), 8)}}}},
                      "callbacks": {"SpeedMonitor": Callback()}, "timestamp": {"Timestamp": {"batch": 120}}},
            "rng": [{"python": (3, (1, 2, 3), None), "torch": torch.arange(16, dtype=torch.uint8)}]}


class Evil:
    def __reduce__(self):
        import os
        return os.system, ("touch /tmp/tessera-was-here",)


def npz(compressed=False, **arrays):
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **arrays)
    return out.getvalue()


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def safetensors(tensors, metadata=None):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.safetensors"
        save_file(tensors, path, metadata)
        return path.read_bytes()


def files():
    Callback.__module__ = "trainer.callbacks"
    sys.modules["trainer"] = sys.modules["trainer.callbacks"] = sys.modules[__name__]
    plain = {k: v.clone().contiguous() for k, v in odd_tensors().items()}
    arrays = {k: v.numpy() for k, v in state_dict().items()}
    yield "plain.pth", saved(state_dict())
    yield "plain_legacy.pth", saved(state_dict(), _use_new_zipfile_serialization=False)
    yield "odd.pth", saved(odd_tensors())
    yield "odd_legacy.pth", saved(odd_tensors(), _use_new_zipfile_serialization=False)
    yield "protocol4.pth", saved(state_dict(), pickle_protocol=4)
    yield "protocol5.pth", saved({"model": state_dict(), "numpy": np.arange(5)}, pickle_protocol=5)
    yield "lightning.ckpt", saved(lightning())
    yield "lightning_legacy.ckpt", saved(lightning(), _use_new_zipfile_serialization=False)
    yield "composer.pt", saved(composer())
    yield "opaque_inside.pth", saved({"state_dict": {"a": values((2,), 0), "b": Callback()}})
    yield "evil.pth", saved(Evil())
    yield "evil_inside.pth", saved({"state_dict": state_dict(), "extra": Evil()})
    yield "evil_legacy.pth", saved(Evil(), _use_new_zipfile_serialization=False)
    yield "evil.pkl", pickle.dumps(Evil(), protocol=4)
    yield "odd.safetensors", safetensors(plain, {"format": "pt"})
    yield "float8.safetensors", safetensors({"e4": values((4,), 1).to(torch.float8_e4m3fn), "e5": values((4,), 1).to(torch.float8_e5m2)})
    yield "float8.pth", saved({"e4": values((4,), 1).to(torch.float8_e4m3fn), "e5": values((4,), 1).to(torch.float8_e5m2)})
    yield "plain.npz", npz(**arrays)
    yield "packed.npz", npz(compressed=True, **arrays, zeros=np.zeros((64, 64), np.float32))
    yield "c.npy", npy(values((3, 4), 9).numpy(), (1, 0))
    yield "fortran.npy", npy(np.asfortranarray(values((3, 4), 9).numpy()), (2, 0))
    yield "half.npy", npy(values((3, 4), 9).numpy().astype(np.float16), (3, 0))
    yield "bfloat16.npy", npy(values((3, 4), 9, torch.bfloat16).view(torch.int16).numpy().view("V2"))
    yield "big_endian.npy", npy(values((3, 4), 9).numpy().astype(">f4"))
    yield "bool.npy", npy(np.array([True, False]))


def main(folder):
    noon = time.gmtime(946728000)
    time.localtime = lambda *_: noon  # ZIP files carry the hour they were made
    kept = {name: base64.b64encode(content).decode() for name, content in files()}
    pathlib.Path(folder, "weight_files.json").write_text(json.dumps(kept, indent=0) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
