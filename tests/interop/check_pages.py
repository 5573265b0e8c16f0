"""Our pages in a real browser, a headless Chromium: check_pages.py TESSERA [FOLDER for screenshots].

study.html, scale.html, compare.html and report.html of small real runs, light on a desktop and dark on a telephone: no error of a script, nothing asked of the
network, nothing that must be scrolled to sideways, words that can be read and do not lie on one another, tables that sort.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "regression"))
from support import TINY, check, tessera  # noqa: E402

PROBE = (pathlib.Path(__file__).parent / "page_probe.js").read_text()
# What a script says that goes wrong, from the page's first line on.
WATCH = "<script>pageErrors=[];addEventListener('error',e=>pageErrors.push(e.message),true);addEventListener('unhandledrejection',e=>pageErrors.push(String(e.reason)))</script>"
SCREENS = [("light", 1280, 900), ("dark", 390, 844)]


def browser():
    """A Chromium without a window, installed where this machine's packages have one; None where they do not."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found or os.geteuid() != 0 or not shutil.which("apt-get"):
        return found
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", names[0]], stdin=subprocess.DEVNULL, capture_output=True,
                   env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return shutil.which(names[0])


def make_pages(folder):
    quick = TINY + ["train.duration=3ep", "eval.every=1ep", "run.tensorboard=false", "data.val.count=12", "run.pictures=2"]
    base = folder / "base.yaml"
    base.write_text("{}\n")
    prices = folder / "prices.yaml"
    prices.write_text("{currency: EUR, device_hour: {cpu: 0.5}}\n")
    # Five classes are not those of the data, and are on the page as what failed.
    tessera("tune", base, *quick, "--vary", "optimizer.lr=log:1e-3:3e-2", "--vary", "model.unet.channels=[4,8],[8,8]", "--vary", "model.num_classes=0,5",
            "--search", "sobol", "--trials", 10, "--at-once", 1, "--scheduler", "{type: median, grace: 1, samples: 3}", "--objective", "mean_iou", "--objective", "minimize parameters",
            "--prices", prices, "--folder", folder / "study")
    said = (folder / "study/study.html").read_text()
    for part in ("best", "front", "curves", "parameters", "rungs", "failed", "config", "trials"):
        check(f'<section id="{part}">' in said, f"study.html has no {part}")
    tessera("scale", "base/models/unet_small", "--folder", folder / "scale", *quick, "train.device=cpu", "train.batch_size=4", "--ranks", "1,2", "--modes", "ddp,dp",
            "--repeat", 2, "--weak", "--prices", prices)
    runs = sorted(path.parent for path in (folder / "study").glob("trials/*/evaluations") if (path / "best.json").exists())
    tessera("compare", *runs[:2], "-o", folder / "compare.html", "--rounds", 200)
    return {"study": folder / "study/study.html", "scale": folder / "scale/scale.html", "compare": folder / "compare.html", "report": runs[0] / "report.html"}


def look(program, page, theme, width, height, picture):
    """The page's own account of what it looks like."""
    copy = page.with_name(f"probe-{theme}.html")
    text = page.read_text()
    check("<head>" in text and "</body>" in text, f"{page} is no page")
    copy.write_text(text.replace("<head>", "<head>" + WATCH, 1).replace("</body>", f"<script>{PROBE}</script></body>"))
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--run-all-compositor-stages-before-draw", "--virtual-time-budget=4000",
               f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={0 if theme == 'dark' else 1}"]
    done = subprocess.run([*command, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=120)
    said = re.search(r'<pre id="page-probe">(.*?)</pre>', done.stdout, re.S)
    check(said, f"{page}: the browser gave no account of it: {done.stderr[-2000:]}")
    if picture:
        subprocess.run([*command[:-2], f"--window-size={width},{2 * height}", command[-1], f"--screenshot={picture}", page.as_uri()], capture_output=True, timeout=120)
    return json.loads(html.unescape(said[1]))


def faults(found, theme):
    """What is wrong with a page, in words."""
    for key, what in (("errors", "scripts fail"), ("requests", "it asks the network"), ("wide", "text is out of the window"), ("outside", "words are cut off"),
                      ("overlaps", "words lie on one another"), ("faint", "words are too faint"), ("small", "words are too small or too large")):
        if found[key]:
            yield f"{what}: {found[key][:6]}"
    if found["scroll"] > found["width"]:
        yield f"{found['scroll']} pixels wide in a window of {found['width']}"
    if (sum(found["ground"]) < 200) != (theme == "dark"):
        yield f"a ground of {found['ground']}"
    for once, twice in found["sorted"]:
        if once not in (sorted(once), sorted(once)[::-1]) or twice != once[::-1]:
            yield f"a table is not sorted: {once}, {twice}"


def main():
    program = browser()
    if not program:
        print("no Chromium here, nor in the packages of this machine: the pages were not looked at")
        return
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        pages, wrong = make_pages(pathlib.Path(folder)), []
        for name, page in pages.items():
            for theme, width, height in SCREENS:
                picture = pictures / f"{name}-{theme}-{width}.png" if pictures else None
                wrong += [f"{name}, {theme}, {width} pixels: {fault}" for fault in faults(look(program, page, theme, width, height, picture), theme)]
            if pictures:
                shutil.copy(page, pictures)
    check(not wrong, "\n".join(wrong))
    print(f"{', '.join(pages)}: light and dark, {' and '.join(str(width) for _, width, _ in SCREENS)} pixels wide, as they should be")


if __name__ == "__main__":
    main()
