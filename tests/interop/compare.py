"""Compares fixtures made afresh with the ones kept in the repository; any difference is an error.

Numbers may differ by rounding (other CPUs order float sums differently): 1e-9 relative, 1e-12 absolute, unless the kept file names
a "tolerance" of its own and says why in the script that makes it. Numbers of one list are of one tensor (values of it, or its norm and a
value), whose rounding has the scale of the largest. Everything else, and every other file, must be the same to the byte.
"""
import json
import math
import pathlib
import sys

USUAL = {"relative": 1e-9, "absolute": 1e-12}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def differences(kept, fresh, tolerance, where="", scale=0.0):
    if isinstance(kept, bool) or isinstance(fresh, bool) or isinstance(kept, str) or kept is None:
        if kept != fresh:
            yield f"{where}: kept {kept!r}, fresh {fresh!r}"
    elif isinstance(kept, (int, float)) and isinstance(fresh, (int, float)):
        same_nan = isinstance(kept, float) and math.isnan(kept) and math.isnan(fresh)
        allowed = max(tolerance["absolute"], tolerance["relative"] * scale)
        if not same_nan and not math.isclose(kept, fresh, rel_tol=tolerance["relative"], abs_tol=allowed):
            yield f"{where}: kept {kept!r}, fresh {fresh!r}"
    elif isinstance(kept, list) and isinstance(fresh, list) and len(kept) == len(fresh):
        largest = max((abs(value) for value in kept if is_number(value) and math.isfinite(value)), default=0.0)
        for i, (a, b) in enumerate(zip(kept, fresh)):
            yield from differences(a, b, tolerance, f"{where}[{i}]", largest)
    elif isinstance(kept, dict) and isinstance(fresh, dict) and kept.keys() == fresh.keys():
        for key in kept:
            yield from differences(kept[key], fresh[key], tolerance, f"{where}.{key}")
    else:
        yield f"{where}: of another shape"


def main(kept_dir, fresh_dir):
    kept_dir, fresh_dir = pathlib.Path(kept_dir), pathlib.Path(fresh_dir)
    names = sorted({p.relative_to(d) for d in (kept_dir, fresh_dir) for p in d.rglob("*") if p.is_file()})
    found = []
    for name in names:
        kept, fresh = kept_dir / name, fresh_dir / name
        if not kept.exists() or not fresh.exists():
            found.append(f"{name}: only in {kept_dir if kept.exists() else fresh_dir}")
        elif name.suffix == ".json":
            old, new = json.loads(kept.read_text()), json.loads(fresh.read_text())
            tolerance = old.get("tolerance", USUAL) if isinstance(old, dict) else USUAL
            found += [f"{name}{d}" for d in differences(old, new, tolerance)]
        elif kept.read_bytes() != fresh.read_bytes():
            found.append(f"{name}: bytes differ")
    for line in found[:40]:
        print(line)
    print(f"{len(names)} fixture files, {len(found)} differences")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
