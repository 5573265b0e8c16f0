"""Pictures of what gpu_step.py, growth.py and predict_memory.py wrote: bench/chart.py step|growth|memory RESULT... OUT.svg. Needs no package.

Of several results each has its own models and axes; what a later one measured again replaces the earlier."""
import json
import math
import pathlib
import sys

NAMES = {"unet": "U-Net", "deeplabv3plus": "DeepLabV3+ R50", "segmenter": "Segmenter B/16", "pspnet": "PSPNet R50"}
COLORS = {"eager": "#b0b7c3", "compile": "#6b7a90", "tessera": "#d9480f"}
LINES = ("#d9480f", "#1c7ed6", "#2f9e44", "#862e9c")
LABELS = {"eager": "PyTorch eager", "compile": "torch.compile", "tessera": "Tessera"}


def text(x, y, words, size=13, anchor="start", color="#1f2933", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}" font-weight="{weight}">{words}</text>'


def page(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="system-ui, sans-serif"><rect width="{width}" height="{height}" fill="white"/>' + "".join(parts) + "</svg>\n")


def bars(result):
    """A step's time of each model: one bar for each program, ours with its ratio to torch.compile."""
    rows, left, scale_to, bar = result["rows"], 150, 470, 18
    longest = max(part["ms"] for row in rows for kind, part in row.items() if kind in LABELS)
    settings, y = result["settings"], 64
    parts = [text(20, 28, "Time of a training step", 17, weight="bold"),
             text(20, 47, f"{result['environment']['gpus'][0]}, batch {settings['batch']}, {settings['size']} x {settings['size']}, "
                          f"{settings['classes']} classes, {settings['precision']}; milliseconds, shorter is better", 12, color="#52606d")]
    for row in rows:
        kinds = [kind for kind in ("eager", "compile", "tessera") if kind in row]
        parts.append(text(left - 12, y + len(kinds) * bar / 2 + 5, NAMES[row["model"]], 13, "end"))
        for kind in kinds:
            width = row[kind]["ms"] / longest * scale_to
            note = f"{row[kind]['ms']:.1f}"
            if kind == "tessera" and "compile" in row:
                note += f"  ({row['compile']['speed_up']:.2f}x torch.compile)"
            parts.append(f'<rect x="{left}" y="{y + 2}" width="{width:.1f}" height="{bar - 4}" rx="2" fill="{COLORS[kind]}"/>')
            parts.append(text(left + width + 6, y + bar - 5, note, 12, weight="bold" if kind == "tessera" else "normal"))
            y += bar
        y += 14
    x = left
    for kind in ("eager", "compile", "tessera"):
        parts += [f'<rect x="{x}" y="{y + 3}" width="12" height="12" rx="2" fill="{COLORS[kind]}"/>', text(x + 18, y + 14, LABELS[kind], 12)]
        x += 130
    return page(820, y + 34, parts)


def panel(rows, axis, x0, y0, width, height):
    """Milliseconds against one axis, both logarithmic."""
    own = [row for row in rows if row["axis"] == axis]
    values, times = sorted({row[axis] for row in own}), [row["ms"] for row in own]
    low, high = math.log2(min(times)) - 0.3, math.log2(max(times)) + 0.3

    def place(value, ms):
        across = (math.log2(value) - math.log2(values[0])) / (math.log2(values[-1]) - math.log2(values[0]))
        return x0 + across * width, y0 + height - (math.log2(ms) - low) / (high - low) * height

    parts = [f'<rect x="{x0}" y="{y0}" width="{width}" height="{height}" fill="none" stroke="#cbd2d9"/>',
             text(x0 + width / 2, y0 + height + 38, {"batch": "batch size", "size": "image side in pixels", "classes": "classes"}[axis], 12, "middle")]
    for value in values:
        x, _ = place(value, 2 ** low)
        parts += [f'<line x1="{x:.1f}" y1="{y0}" x2="{x:.1f}" y2="{y0 + height}" stroke="#eef1f4"/>', text(x, y0 + height + 17, value, 11, "middle")]
    for power in range(math.ceil(low), math.floor(high) + 1):
        _, y = place(values[0], 2 ** power)
        parts += [f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + width}" y2="{y:.1f}" stroke="#eef1f4"/>', text(x0 - 6, y + 4, 2 ** power, 11, "end")]
    for model, color in zip(NAMES, LINES):
        points = sorted((row[axis], row["ms"]) for row in own if row["model"] == model)
        if points:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
            parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in (place(*point) for point in points)]
    return parts


def growth(result):
    parts = [text(20, 28, "A step's time as the work grows", 17, weight="bold"),
             text(20, 47, f"{result['environment']['gpus'][0]}, bf16; batch 16, 512 x 512, 150 classes where not varied; milliseconds, both axes logarithmic", 12, color="#52606d")]
    for i, axis in enumerate(("batch", "size", "classes")):
        parts += panel(result["rows"], axis, 60 + i * 310, 70, 240, 260)
    x = 60
    for model, color in zip(NAMES, LINES):
        if any(row["model"] == model for row in result["rows"]):
            parts += [f'<circle cx="{x + 6}" cy="392" r="5" fill="{color}"/>', text(x + 18, 396, NAMES[model], 12)]
            x += 150
    return page(960, 415, parts)


def memory(result):
    """Peak memory of predict against the pixels of the image, beside the image itself; both axes as they are, so that constant is level."""
    rows, x0, y0, width, height = [row for row in result["rows"] if row["side"] > 64], 70, 70, 560, 300
    lines = {"whole": ("whole image (eval.window.size=0)", LINES[1]), "before": ("windows, before", "#6b7a90"), "auto": ("as it comes", LINES[0])}
    most_pixels = max(row["side"] for row in rows) ** 2
    points = {mode: sorted((row["side"] ** 2, row["peak_bytes"]) for row in rows if row["mode"] == mode) for mode in lines}
    points["image"] = sorted({(row["side"] ** 2, row["image_bytes"]) for row in rows} | {(0, 0)})
    top = math.ceil(max(value for line in points.values() for _, value in line) / 1e9)
    step = max(1, top // 8)

    def place(pixels, value):
        return x0 + pixels / most_pixels * width, y0 + height - value / 1e9 / top * height

    small = next((row["peak_bytes"] for row in result["rows"] if row["side"] == 64), 0)
    parts = [text(20, 28, "Memory of predict", 17, weight="bold"),
             text(20, 47, f"Peak of the process in GB (64 x 64 pixels: {small / 1e9:.2f}); RGB, U-Net of {', '.join(result['settings']['channels'])} channels, "
                          f"crops of {result['settings']['crop']}", 12, color="#52606d"),
             f'<rect x="{x0}" y="{y0}" width="{width}" height="{height}" fill="none" stroke="#cbd2d9"/>']
    for gb in range(0, top + 1, step):
        _, y = place(0, gb * 1e9)
        parts += [f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + width}" y2="{y:.1f}" stroke="#eef1f4"/>', text(x0 - 6, y + 4, gb, 11, "end")]
    for side in sorted({row["side"] for row in rows}):
        x, _ = place(side ** 2, 0)
        parts += [f'<line x1="{x:.1f}" y1="{y0}" x2="{x:.1f}" y2="{y0 + height}" stroke="#eef1f4"/>']
        if side >= 8000:
            parts.append(text(x, y0 + height + 17, f"{side:,}²", 11, "middle"))
    parts.append(text(x0 + width / 2, y0 + height + 38, "pixels of the image", 12, "middle"))
    names = {"image": ("the image itself, decoded", "#b0b7c3"), **lines}
    for mode, (name, color) in names.items():
        if not points[mode]:
            continue
        path = [place(*point) for point in points[mode]]
        dash = ' stroke-dasharray="5 4"' if mode == "image" else ""
        parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in path)}" fill="none" stroke="{color}" stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in path if mode != "image"]
    x = x0
    for mode, (name, color) in names.items():
        if points[mode]:
            parts += [f'<circle cx="{x + 6}" cy="{y0 + height + 58}" r="5" fill="{color}"/>', text(x + 17, y0 + height + 62, name, 12)]
            x += 30 + 6.6 * len(name)
    return page(660, y0 + height + 80, parts)


def main():
    drawings = {"step": bars, "growth": growth, "memory": memory}
    if len(sys.argv) < 4 or sys.argv[1] not in drawings:
        raise SystemExit(__doc__)
    if sys.argv[1] == "memory":
        pathlib.Path(sys.argv[-1]).write_text(memory(json.loads(pathlib.Path(sys.argv[2]).read_text())))
        return
    results = [json.loads(pathlib.Path(path).read_text()) for path in sys.argv[2:-1]]
    rows = {(row["model"], row.get("axis"), row.get(row.get("axis"))): row for result in results for row in result["rows"]}
    result = {**results[0], "rows": list(rows.values())}
    pathlib.Path(sys.argv[-1]).write_text(drawings[sys.argv[1]](result))


if __name__ == "__main__":
    main()
