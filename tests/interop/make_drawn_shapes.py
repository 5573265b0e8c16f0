"""Writes drawn_shapes.json: shapes as labelme annotates them and the pixels that Pillow's ImageDraw fills for them.

Usage: make_drawn_shapes.py OUTPUT_FOLDER. The calls are those by which labelme makes masks of its shapes: polygon, rectangle, and ellipse around
a circle's centre, each with fill and outline; lines 10 pixels wide, and an ellipse of 5 pixels around a point. Shapes come from a fixed generator; pixels are row strings of '.' and '#'.
"""
import json
import math
import pathlib
import sys

from PIL import Image, ImageDraw

state = 12345


def number(low, high):
    global state
    state = (state * 1103515245 + 12345) % 2**31
    return round(low + (high - low) * state / 2**31, 2)


def rows(width, height, draw):
    image = Image.new("L", (width, height))
    draw(ImageDraw.Draw(image))
    return ["".join(".#"[image.getpixel((x, y))] for x in range(width)) for y in range(height)]


def point(width, height):
    return [number(-4, width + 4), number(-4, height + 4)]


def circle_box(centre, other):
    radius = math.sqrt((centre[0] - other[0]) ** 2 + (centre[1] - other[1]) ** 2)
    return [centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius]


def lines_and_points():
    for i in range(120):
        width, height = 5 + i * 11 % 43, 5 + i * 13 % 37
        kind = ("line", "linestrip", "point")[i % 3]
        points = [point(width, height) for _ in range({"line": 2, "linestrip": 2 + i % 4, "point": 1}[kind])]
        if i % 5 == 0:  # level, upright and of no length
            points[-1] = [points[0][0] if i % 2 else points[-1][0], points[0][1]]
        if kind == "point":
            x, y = points[0]
            pixels = rows(width, height, lambda draw: draw.ellipse([x - 5, y - 5, x + 5, y + 5], outline=1, fill=1))
        else:
            pixels = rows(width, height, lambda draw: draw.line([tuple(p) for p in points], fill=1, width=10))
        yield {"kind": kind, "points": points, "rows": pixels}


def main(folder):
    shapes = []
    for i in range(260):
        width, height = 5 + i * 7 % 19, 5 + i * 5 % 17
        kind = ("polygon", "polygon", "polygon", "circle", "rectangle")[i % 5]
        points = [point(width, height) for _ in range(3 + i % 7 if kind == "polygon" else 2)]
        if kind == "polygon":
            if i % 4 == 0:  # whole numbers, closed
                points = [[float(int(x)), float(int(y))] for x, y in points]
                points.append(points[0])
            pixels = rows(width, height, lambda draw: draw.polygon([tuple(p) for p in points], outline=1, fill=1))
        elif kind == "circle":
            if i % 3 == 0:
                points[1] = [points[0][0] + number(0, 5), points[0][1]]
            pixels = rows(width, height, lambda draw: draw.ellipse(circle_box(*points), outline=1, fill=1))
        else:
            low, high = [[f(a, b) for a, b in zip(*points)] for f in (min, max)]  # Pillow wants them in order
            pixels = rows(width, height, lambda draw: draw.rectangle([*low, *high], outline=1, fill=1))
        shapes.append({"kind": kind, "points": points, "rows": pixels})
    shapes.extend(lines_and_points())
    (pathlib.Path(folder) / "drawn_shapes.json").write_text(json.dumps(shapes) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
