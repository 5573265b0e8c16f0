"""`tessera data fetch` from a server of this test's own: over several connections and over one, cut, slow, refused, exchanged in the
middle, with wrong sizes and checksums, archives that lead out of their folder, offline, by two processes at once, and killed with
SIGKILL again and again. What appears under the data set's name is always the whole of it."""
import hashlib
import http.server
import io
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tarfile
import threading
import time
import zipfile

from support import Folder, check, program, tessera

PROXIES = {name: "" for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
NOISE = random.Random(1).randbytes(1 << 20)  # does not shrink


def files(count, size, seed):
    return {f"images/{i:04d}.jpg": hashlib.sha256(b"%d %d" % (seed, i)).digest() + NOISE[i:i + size] for i in range(count)}


def zipped(content, top="set/"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(top + name, data)
    return out.getvalue()


def tarred(content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


LARGE_FILES, SMALL_FILES = files(48, 1 << 20, 1), {f"masks/{i:04d}.png": b"mask %d" % i for i in range(300)}
LARGE, SMALL = zipped(LARGE_FILES), tarred(SMALL_FILES)  # 48 MB: three parts and a bit
WHOLE = {**LARGE_FILES, **SMALL_FILES}


class Server(http.server.ThreadingHTTPServer):
    """Serves `content[path]` as `how[path]` says; keeps what was asked for and how much was sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon_threads = True
        self.lock = threading.Lock()
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self, **how):
        self.content = {"/large.zip": LARGE, "/small.tar.gz": SMALL}
        self.how = {"ranges": True, "etag": '"1"', "cut": set(), "pause": 0, "alone": False, **how}
        self.asked, self.sent, self.busy = [], 0, 0

    def url(self, name):
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def handle_error(self, *_):
        pass  # clients go away, and are meant to


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server, how = self.server, self.server.how
        self.close_connection = True
        content = server.content.get(self.path)
        if content is None:
            return self.send_error(404)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        same = self.headers.get("If-Range") in (None, how["etag"])
        first, last = 0, len(content) - 1
        if asked and same and how["ranges"]:
            first, last = int(asked[1]), min(int(asked[2] or last), last)
        with server.lock:
            server.asked.append((self.path, first, last))
            number = len(server.asked)
            server.busy += 1
            refuse = how["alone"] and server.busy > 1
        try:
            if refuse:
                return self.send_error(503)
            self.send_response(206 if asked and same and how["ranges"] else 200)
            self.send_header("ETag", how["etag"])
            self.send_header("Content-Length", str(last + 1 - first))
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
            self.end_headers()
            stop = first + (last + 1 - first) // 2 if number in how["cut"] else last + 1
            if how.get("exchange_at") == number:
                server.content[self.path], how["etag"] = how["other"], '"2"'
            for at in range(first, stop, 1 << 18):
                piece = content[at:min(at + (1 << 18), stop)]
                self.wfile.write(piece)
                with server.lock:
                    server.sent += len(piece)
                time.sleep(how["pause"])
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with server.lock:
                server.busy -= 1


def catalogue(server, folder, **changes):
    """A set of two archives; `changes` of the entries' keys, by file name without its ending."""
    def entry(name, content, **more):
        keys = {"url": server.url(name), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), **more}
        keys.update(changes.get(name.split(".")[0], {}))
        return {key: value for key, value in keys.items() if value is not None}

    listing = {"set": {"title": "made here", "licence": "ours", "has": ["images", "masks"],
                       "files": [entry("large.zip", LARGE, strip="set"), entry("small.tar.gz", SMALL)]}}
    (folder / "catalogue.yaml").write_text(json.dumps(listing))
    return folder / "catalogue.yaml"


def arguments(listing, folder, *more):
    return ["data", "fetch", "set", "--from", str(listing), "--to", str(folder / "to"), *more]


def environment(folder):
    return {**PROXIES, "TESSERA_CACHE": str(folder / "cache")}


def fetch(listing, folder, *more, expect=0):
    return tessera(*arguments(listing, folder, *more), expect=expect, env=environment(folder))


def check_whole(folder, content=None):
    root = folder / "to/set"
    found = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    check(found == (content or WHOLE), f"{len(found)} files, expected {len(content or WHOLE)}: another content")
    left = sorted(p.name for p in (folder / "to").iterdir())
    check(left == ["set"], f"left behind: {left}")


def over_several_connections(server, folder):
    server.reset()
    out, errors = fetch(catalogue(server, folder), folder)
    check(out.strip() == str(folder / "to/set") and "licence: ours" in errors, out + errors)
    check_whole(folder)
    starts = {first for path, first, last in server.asked if path == "/large.zip" and last > first}
    check(starts == {0, 16 << 20, 32 << 20, 48 << 20}, f"parts that begin at {sorted(starts)}")
    check(server.sent < len(LARGE) + len(SMALL) + 10, "bytes came twice")
    before = len(server.asked)
    fetch(catalogue(server, folder), folder)
    check(len(server.asked) == before, "what is there was asked for again")


def over_one_connection(server, folder):
    server.reset(ranges=False)
    fetch(catalogue(server, folder), folder)
    check_whole(folder)


def cut_and_refused(server, folder):
    server.reset(cut={2, 3, 5, 6, 8})
    fetch(catalogue(server, folder), folder)
    check_whole(folder)
    check(len(server.asked) >= 9, server.asked)
    with Folder() as other:  # a server that serves one connection at a time: the others leave their parts to it
        server.reset(alone=True)
        fetch(catalogue(server, other), other)
        check_whole(other)


def exchanged_in_the_middle(server, folder):
    newer = files(48, 1 << 20, 2)
    server.reset(exchange_at=3, other=zipped(newer))
    listing = catalogue(server, folder, large={"sha256": None, "bytes": None})
    fetch(listing, folder)
    check_whole(folder, {**newer, **SMALL_FILES})


def wrong(server, folder):
    for changes, message in [({"bytes": 10}, "bytes, expected 10"), ({"sha256": "0" * 64}, "expected 0000"), ({"md5": "0" * 32}, "its md5 is")]:
        server.reset()
        if "md5" in changes:
            changes["sha256"] = None
        _, errors = fetch(catalogue(server, folder, small=changes), folder, expect=1)
        check(message in errors and "it was not kept" in errors and not (folder / "to/set").exists(), errors)
    server.reset()
    fetch(catalogue(server, folder), folder)  # the large one, which was right, is not fetched again
    check(not any(path == "/large.zip" for path, _, _ in server.asked), server.asked)
    check_whole(folder)
    for name, bad in [("leads out", zipped({"../../evil.txt": b"x"}, top="")), ("is damaged", LARGE[:1000] + b"x" + LARGE[1001:]),
                      ("has no directory", LARGE[:-100]), ("no archive that can be unpacked", b"<html>not found</html>")]:
        with Folder() as other:
            server.reset()
            server.content["/large.zip"] = bad
            _, errors = fetch(catalogue(server, other, large={"sha256": None, "bytes": None}), other, expect=1)
            check(name in errors or "is not trusted" in errors, errors)
            check(not (other / "to/set").exists() and not list(other.rglob("evil.txt")), "something was unpacked")
    server.reset()
    with Folder() as other:
        _, errors = fetch(catalogue(server, other, small={"bytes": 10**15}), other, expect=1)
        check("GB and the disk of" in errors and not server.asked, errors)


def offline(server, folder):
    with socket.socket() as reserved:  # bound, but nobody listens
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/large.zip"
        listing = catalogue(server, folder, large={"url": url})
        _, errors = fetch(listing, folder, expect=1)
        place = re.search(r"put it as (\S+) into (\S+),", errors)
        check(place and place[1] == "large.zip", errors)
        by_hand = pathlib.Path(place[2]) / place[1]
        by_hand.write_bytes(LARGE[:-1])
        _, errors = fetch(listing, folder, expect=1)
        check(f"{by_hand} is not {url}" in errors, errors)
        by_hand.write_bytes(LARGE)
        server.reset()
        fetch(listing, folder)
        check(by_hand.read_bytes() == LARGE, "a file of the user's was taken away")
        check((folder / "to/set/images/0000.jpg").exists(), "not unpacked")
    with Folder() as other:
        server.reset()
        fetch(catalogue(server, other), other, "--keep")
        kept = sorted(p.name for p in (other / "to/set.fetch").iterdir())
        check(kept == ["large.zip", "small.tar.gz"], kept)


def killed_again_and_again(server, folder):
    server.reset(pause=0.004)
    listing, kills, delay = catalogue(server, folder), 0, 0.05
    while True:
        process = subprocess.Popen([program(), *arguments(listing, folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, **environment(folder)})
        try:
            check(process.wait(timeout=delay) == 0, "it failed by itself")
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            check(not (folder / "to/set").exists() or len(list((folder / "to/set").rglob("*.*"))) == len(WHOLE), "a part of it was seen")
            kills, delay = kills + 1, delay * 1.25
            check(kills < 60, "it does not get on")
    check(kills >= 3, f"killed only {kills} times")
    fetch(listing, folder)
    check_whole(folder)
    print(f"  killed {kills} times, {server.sent / (len(LARGE) + len(SMALL)):.2f} times its bytes came")


def two_at_once(server, folder):
    server.reset(pause=0.004)
    command = [program(), *arguments(catalogue(server, folder), folder)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment(folder)})
                 for _ in range(3)]
    results = [p.communicate(timeout=240) for p in processes]
    check([p.returncode for p in processes] == [0, 0, 0], results)
    check(server.sent < len(LARGE) + len(SMALL) + 10, "more than one process downloaded")
    check_whole(folder)


def listed(server, folder):
    out, _ = tessera("data", "fetch", "--list", env=environment(folder))
    for name in ("ade20k", "coco2017", "coco2014", "voc2012", "dsb2018", "camvid", "oxford_pets"):
        check(name in out, out)
    entries = json.loads(tessera("data", "fetch", "--list", "--json", env=environment(folder))[0])
    check(all(e["licence"] and e["files"] and not e["here"] for e in entries), entries)
    _, errors = tessera("data", "fetch", "ade2k", expect=2, env=environment(folder))
    check("did you mean 'ade20k'" in errors, errors)
    _, errors = tessera("data", "fetch", expect=2, env=environment(folder))
    check("say what to fetch" in errors, errors)


if __name__ == "__main__":
    live = Server()
    for part in (listed, over_several_connections, over_one_connection, cut_and_refused, exchanged_in_the_middle, wrong, offline,
                 two_at_once, killed_again_and_again):
        with Folder() as temporary:
            part(live, temporary)
        print(f"{part.__name__}: ok", flush=True)
    live.shutdown()
