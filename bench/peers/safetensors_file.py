"""Reads the file that `tessera bench step --dump` writes: the initial weights by name, batch.images and batch.labels."""
import json
import struct

import torch

TYPES = {"F32": torch.float32, "F64": torch.float64, "BF16": torch.bfloat16, "I64": torch.int64, "I16": torch.int16, "U8": torch.uint8}


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    return {
        name: torch.frombuffer(data[slice(*entry["data_offsets"])], dtype=TYPES[entry["dtype"]]).view(entry["shape"]).clone()
        for name, entry in header.items() if name != "__metadata__"
    }
