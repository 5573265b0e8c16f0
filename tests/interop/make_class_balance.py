"""Chances of classes and samples of rare-class sampling (DAFormer's), from counts of pixels, for class_balance_test: fractions and decimals of
Python's standard library."""
import json
import pathlib
import random
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 50


def chances(pixels, temperature, strength, min_pixels):
    classes = range(len(pixels[0]))
    total = sum(map(sum, pixels))
    showing = {c: [i for i, row in enumerate(pixels) if row[c] >= min_pixels] for c in classes}
    drawn = [c for c in classes if showing[c]]
    share = {c: Fraction(sum(row[c] for row in pixels), total) for c in drawn}
    weight = {c: ((1 - Decimal(share[c].numerator) / Decimal(share[c].denominator)) / Decimal(temperature)).exp() for c in drawn}
    of_class = {c: weight[c] / sum(weight.values()) for c in drawn}
    of_sample = [Decimal(strength) * sum(of_class[c] / len(showing[c]) for c in drawn if i in showing[c]) + (1 - Decimal(strength)) / len(pixels)
                 for i in range(len(pixels))]
    return {"classes": [float(of_class.get(c, 0)) for c in classes], "samples": [float(x) for x in of_sample]}


def main(folder):
    random.seed(5)  # of the standard library, whose numbers stay the same
    cases = []
    for temperature, strength, min_pixels, classes, samples in [("0.01", "1", 1, 6, 9), ("0.1", "0.5", 300, 4, 12), ("2", "0.9", 40, 8, 5), ("0.001", "1", 1, 5, 7)]:
        pixels = [[random.choice([0, 0, random.randrange(1, 500), random.randrange(1, 20000)]) for _ in range(classes)] for _ in range(samples)]
        pixels[0][classes - 1] = max(pixels[0][classes - 1], min_pixels)
        cases.append({"pixels": pixels, "temperature": float(temperature), "strength": float(strength), "min_pixels": min_pixels,
                      **chances(pixels, temperature, strength, min_pixels)})
    (pathlib.Path(folder) / "class_balance.json").write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
