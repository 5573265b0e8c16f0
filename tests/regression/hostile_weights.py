"""Weight files that lie or attack: code in a pickle, cut files, shapes and sizes that are not there, bombs that unfold. Each must be
an error that says why, with exit code 1: nothing runs, nothing crashes, and memory stays where an honest file leaves it."""
import io
import json
import os
import pickle
import struct
import subprocess
import zipfile

from support import Folder, check, program

GIGABYTES = 10 * 2**30
MAGIC = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."  # how the older format begins
SLACK_KB = 200_000
OUR_ERROR = 1


class Call:
    """Pickles as a call of a function, which Python would make on loading."""

    def __init__(self, function, *arguments):
        self.made_by = (function, arguments)

    def __reduce__(self):
        return self.made_by


def number(value):
    return b"\x8a\x08" + struct.pack("<q", value)


def tensor(count, size, stride=1):
    """{"w": a float tensor over `count` floats of storage "0"}, as torch.save pickles it."""
    return (b"\x80\x02}(X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu"
            + number(count) + b"tQK\0(" + number(size) + b"t(" + number(stride) + b"t\x89}tRu.")


def pth(data, storage=bytes(16)):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as file:
        file.writestr("archive/data.pkl", data)
        file.writestr("archive/data/0", storage)
    return content.getvalue()


def safetensors(header, data=bytes(16)):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def one(shape, offsets, kind="F32"):
    return {"w": {"dtype": kind, "shape": shape, "data_offsets": offsets}}


def doubling(heights):
    """Each list holds the one before twice; written in a few bytes, it unfolds to 2^heights values."""
    out = b"\x80\x02]q\0"
    for i in range(heights):
        out += b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1])
    return out + b"."


def claims(content, size):
    """A ZIP file whose data entry claims `size` bytes, in both of its headers."""
    entry = b"archive/data/0"
    local = content.index(entry) - 30
    central = content.rindex(entry) - 46
    file = bytearray(content)
    file[local + 18 : local + 26] = file[central + 20 : central + 28] = struct.pack("<II", size, size)
    return bytes(file)


def npz_bomb():
    content = io.BytesIO()
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (67108864,), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        with file.open("w.npy", "w") as out:
            out.write(array)
            for _ in range(256):
                out.write(bytes(2**20))
    return content.getvalue()


def attacks(folder):
    trace = folder / "was-here"
    command = Call(os.system, f"touch {trace}")
    good_pth, good_safetensors = pth(tensor(4, 4)), safetensors(one([4], [0, 16]))
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", 70) + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2684354560,)}".ljust(69) + b"\n"
    yield "code", pth(pickle.dumps({"w": command}, 2)), "posix.system, which runs code; nothing was run"
    yield "code_legacy", MAGIC + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + pickle.dumps({"w": command}, 2), "posix.system"
    yield "code_eval", pth(pickle.dumps(Call(eval, "1"), 4)), "builtins.eval"
    yield "unknown_class", pth(tensor(4, 4)[:-2] + b"X\x01\0\0\0xcsome.module\nThing\n)Ru."), "an object of some.module.Thing"
    yield "cut_in_half", good_pth[: len(good_pth) // 2], "truncated"
    yield "cut_by_one", good_pth[:-1], "truncated or damaged"
    yield "cut_safetensors", good_safetensors[:-1], "outside the file"
    yield "lying_shape_pth", pth(tensor(4, 5)), "need 20 bytes, its storage has 16"
    yield "lying_shape_safetensors", safetensors(one([5], [0, 16])), "its shape needs 20 bytes, the file gives it 16"
    yield "lying_shape_npy", npy, "needs 10737418240 bytes"
    yield "ten_gigabytes_pth", pth(tensor(GIGABYTES // 4, GIGABYTES // 4)), "should have 10737418240 bytes, the file has 16"
    yield "ten_gigabytes_repeated", pth(tensor(4, GIGABYTES // 4, stride=0)), "not trusted"
    yield "ten_gigabytes_safetensors", safetensors(one([GIGABYTES // 4], [0, GIGABYTES])), "outside the file"
    yield "ten_gigabytes_header", struct.pack("<Q", GIGABYTES) + b"{" + bytes(100), "no weight file"
    yield "huge_zip_entry", claims(good_pth, 0xFFFFFFF0), "truncated or damaged"
    yield "bomb_doubling", pth(doubling(40)), "unfold"
    yield "bomb_itself", pth(b"\x80\x02]q\0h\0a."), "holds itself"
    yield "bomb_deep", pth(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."), "nested more than"
    yield "bomb_deflate", npz_bomb(), "not trusted"


def run(*arguments, env=None):
    """Exit code, error text and peak memory in kB."""
    process = subprocess.Popen([program(), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **(env or {})})
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, errors, usage.ru_maxrss


def main():
    with Folder() as folder:
        honest = folder / "honest.pth"
        honest.write_bytes(pth(tensor(4, 4)))
        code, errors, usual = run("models", "inspect", honest)
        check(code == 0, f"the honest file was refused: {errors}")
        for name, content, expected in attacks(folder):
            file = folder / name
            file.write_bytes(content)
            code, errors, memory = run("models", "inspect", file)
            check(code == OUR_ERROR, f"{name}: exit code {code}\n{errors[-2000:]}")
            check(expected in errors and str(file) in errors, f"{name}: expected '{expected}' in\n{errors}")
            check(memory < usual + SLACK_KB, f"{name}: {memory} kB of memory, an honest file takes {usual}")
            check(not (folder / "was-here").exists(), f"{name}: code in the file was run")
            print(f"{name}: ok")
        # Weights by name, placed by hand, but of another content than their name promises.
        place = folder / "cache/weights/resnet18-f37072fd.pth"
        place.parent.mkdir(parents=True)
        place.write_bytes(honest.read_bytes())
        code, errors, _ = run("models", "inspect", "resnet18.imagenet1k_v1", env={"TESSERA_CACHE": str(folder / "cache")})
        check(code == OUR_ERROR and "expected f37072fd" in errors and str(place) in errors, errors)
        print("wrong_checksum: ok")


if __name__ == "__main__":
    main()
