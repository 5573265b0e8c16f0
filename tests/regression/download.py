"""Weights fetched over HTTP from a server of this test's own: whole, resumed after a cut connection, with a wrong checksum, from
servers that fail, offline, by two processes at once, and as model.pretrained of a run that is resumed without them."""
import hashlib
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import threading

from support import TINY, Folder, check, program, tessera

CONTENT = b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(40_000))  # 1.28 MB that look like weights
DIGEST = hashlib.sha256(CONTENT).hexdigest()
HALF = len(CONTENT) // 2
PROXIES = {name: "" for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}


class Server(http.server.ThreadingHTTPServer):
    """Answers each path by `answers[path]`, a function of the handler; keeps the headers of all requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.seen, self.lock = {}, {}, threading.Lock()
        self.daemon_threads = True
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path, answer):
        self.answers[path] = answer
        self.seen[path] = []
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with self.server.lock:
            self.server.seen[self.path].append(dict(self.headers))
            self.number = len(self.server.seen[self.path])
        try:
            self.server.answers[self.path](self)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True

    def log_message(self, *_):
        pass

    def begin(self, status, length, **headers):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def asked_from(self, etag):
        """Where the rest begins that the client asks for, if it means this file."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(asked[1]) if asked and self.headers.get("If-Range") == etag else 0

    def send_content(self, content=CONTENT, etag='"one"', stop=None):
        """The file, or the rest of it; `stop`: the connection is cut at this byte."""
        start = self.asked_from(etag)
        if start:
            self.begin(206, len(content) - start, ETag=etag, Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.begin(200, len(content), ETag=etag)
        self.wfile.write(content[start:stop])


def fetch(folder, url, expect=0):
    return tessera("models", "fetch", url, expect=expect, env={**PROXIES, "TESSERA_CACHE": str(folder / "cache")})


def leftovers(folder, suffix=""):
    return [p.name for p in (folder / "cache").rglob(f"*{suffix}") if p.is_file()]


def whole(server, folder):
    def redirect(handler):
        handler.begin(302, 0, Location=server.url("/whole.pth", Handler.send_content))

    def without_length(handler):
        handler.begin(200, None)
        handler.wfile.write(CONTENT)

    url = server.url("/redirect/model.pth", redirect)
    out, errors = fetch(folder, f"{url}#sha256={DIGEST}")
    file = pathlib.Path(out.strip())
    check(file.name == "model.pth" and file.read_bytes() == CONTENT, f"{out}{errors}")
    check(sorted(leftovers(folder)) == ["model.pth", "model.pth.seen.json"], leftovers(folder))
    fetch(folder, f"{url}#sha256={DIGEST[:8]}")
    check(len(server.seen["/redirect/model.pth"]) == 1, "a file that is in the cache was fetched again")
    # No checksum is known: the first one counts.
    out, errors = fetch(folder, server.url("/nolength.pth", without_length))
    check(f"its sha256 {DIGEST} is noted" in errors, errors)
    pathlib.Path(out.strip()).unlink()
    server.answers["/nolength.pth"] = lambda handler: handler.send_content(CONTENT[::-1])
    _, errors = fetch(folder, f"http://127.0.0.1:{server.server_address[1]}/nolength.pth", expect=1)
    check(f"but was {DIGEST} when it was first fetched" in errors, errors)


def resumed(server, folder):
    def cut_once(handler):
        handler.send_content(stop=HALF if handler.number == 1 else None)

    url = server.url("/cut.pth", cut_once)
    out, errors = fetch(folder, f"{url}#sha256={DIGEST}")
    second = server.seen["/cut.pth"][1]
    check(second.get("Range") == f"bytes={HALF}-" and second.get("If-Range") == '"one"', second)
    check(pathlib.Path(out.strip()).read_bytes() == CONTENT and "trying again" in errors, errors)

    # The next process goes on where the one before was refused.
    def cut_then_refuse(handler):
        handler.send_content(stop=HALF) if handler.number == 1 else handler.begin(403, 0)

    url = server.url("/later.pth", cut_then_refuse)
    _, errors = fetch(folder, url, expect=1)
    check("the server answered 403" in errors, errors)
    part = next((folder / "cache").rglob("later.pth.part"))
    check(part.stat().st_size == HALF, f"{part.stat().st_size} bytes kept, {HALF} came")
    server.url("/later.pth", Handler.send_content)
    out, _ = fetch(folder, f"{url}#sha256={DIGEST}")
    check(server.seen["/later.pth"][0].get("Range") == f"bytes={HALF}-", server.seen["/later.pth"])
    check(pathlib.Path(out.strip()).read_bytes() == CONTENT and not leftovers(folder, ".part"), leftovers(folder))

    # The server has another file by now: its whole is taken, not a mixture.
    def changed(handler):
        handler.send_content(etag='"old"', stop=HALF) if handler.number == 1 else handler.send_content(CONTENT[::-1], '"new"')

    out, _ = fetch(folder, server.url("/changed.pth", changed))
    check(pathlib.Path(out.strip()).read_bytes() == CONTENT[::-1], "a mixture of two files")

    # A server that says it is the same file although it is not: the checksum tells, and the whole is fetched.
    def lying(handler):
        handler.send_content(CONTENT[::-1], stop=HALF) if handler.number == 1 else handler.send_content()

    out, _ = fetch(folder, server.url("/lying.pth", lying) + f"#sha256={DIGEST}")
    check(pathlib.Path(out.strip()).read_bytes() == CONTENT and len(server.seen["/lying.pth"]) == 3, server.seen["/lying.pth"])


def refused(server, folder):
    wrong = "0" * 8
    url = server.url("/wrong.pth", Handler.send_content)
    _, errors = fetch(folder, f"{url}#sha256={wrong}", expect=1)
    check(f"its sha256 is {DIGEST}, expected {wrong}" in errors and "it was not kept" in errors, errors)
    check(not [n for n in leftovers(folder) if not n.endswith(".lock")], leftovers(folder))

    def page(status):
        def answer(handler):
            handler.begin(status, 9)
            handler.wfile.write(b"not here\n")
        return answer

    _, errors = fetch(folder, server.url("/absent.pth", page(404)), expect=1)
    check("the server answered 404" in errors and "place it as absent.pth in" in errors, errors)
    check(len(server.seen["/absent.pth"]) == 1, "404 is not worth a second try")
    _, errors = fetch(folder, server.url("/busy.pth", page(503)), expect=1)
    check("the server answered 503" in errors and len(server.seen["/busy.pth"]) == 5, errors)
    check(not any(p.stat().st_size for p in (folder / "cache").rglob("*.part")), "an error page was kept as weights")


def offline(folder):
    with socket.socket() as reserved:  # bound, but nobody listens
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/far/model.pth"
        _, errors = fetch(folder, url, expect=1)
        check(url in errors and "place it as model.pth in" in errors, errors)
        place = pathlib.Path(re.search(r"place it as model.pth in (\S+),", errors)[1])
        (place / "model.pth").write_bytes(CONTENT)
        out, errors = fetch(folder, url)
        check(pathlib.Path(out.strip()) == place / "model.pth", f"{out}{errors}")
    listing = json.loads(tessera("models", "pretrained", "--json", env={"TESSERA_CACHE": str(folder / "cache")})[0])
    check(len(listing) >= 60 and not any(entry["here"] for entry in listing), listing[0])
    _, errors = tessera("models", "fetch", "resnet50.imagenet1k_v9", expect=2)
    check("did you mean 'resnet50.imagenet1k_v" in errors, errors)


def two_at_once(server, folder):
    waiting = threading.Event()

    def slow(handler):
        handler.begin(200, len(CONTENT))
        handler.wfile.write(CONTENT[:HALF])
        waiting.wait(120)
        handler.wfile.write(CONTENT[HALF:])

    url = server.url("/shared.pth", slow) + f"#sha256={DIGEST}"
    environment = {**os.environ, **PROXIES, "TESSERA_CACHE": str(folder / "cache")}
    processes = [subprocess.Popen([program(), "models", "fetch", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=environment) for _ in range(2)]

    def watch(process):  # whichever comes second says so, and then the first may go on
        for line in process.stderr:
            if "waiting for another process" in line:
                waiting.set()

    watchers = [threading.Thread(target=watch, args=(p,)) for p in processes]
    for thread in watchers:
        thread.start()
    try:
        outputs = [p.stdout.read() for p in processes]
        codes = [p.wait(timeout=240) for p in processes]
    finally:
        for p in processes:
            p.kill()
        for thread in watchers:
            thread.join()
    check(codes == [0, 0] and waiting.is_set(), f"exit codes {codes}, waited: {waiting.is_set()}")
    check(outputs[0] == outputs[1] and pathlib.Path(outputs[0].strip()).read_bytes() == CONTENT, outputs)
    check(len(server.seen["/shared.pth"]) == 1, "both processes downloaded")
    check(sorted(leftovers(folder)) == ["shared.pth", "shared.pth.seen.json"], leftovers(folder))


def a_run_starts_from_them(server, folder):
    """model.pretrained may be a URL; a resumed run does not ask for it again."""
    options = TINY + ["train.duration=4ba", "checkpoint.every=2ba", "eval.every=100ba"]
    tessera("train", *options, f"run.dir={folder}/first")
    tessera("export", "weights", "-w", folder / "first", "--format", "pth", "-o", folder / "w.pth")
    content = (folder / "w.pth").read_bytes()
    url = server.url("/w.pth", lambda handler: handler.send_content(content)) + "#sha256=" + hashlib.sha256(content).hexdigest()
    environment = {**PROXIES, "TESSERA_CACHE": str(folder / "cache")}
    run = [*options, f"model.pretrained={url}", f"run.dir={folder}/second"]
    _, errors = tessera("train", *run, env=environment)
    check("0 missing, 0 unused" in errors, errors)
    server.url("/w.pth", lambda handler: handler.begin(404, 0))
    next((folder / "cache").rglob("w.pth")).unlink()
    _, errors = tessera("train", *run, "--resume", env=environment)
    check(not server.seen["/w.pth"], "a resumed run asked for its pretrained weights")


if __name__ == "__main__":
    with Server() as live:
        for part in (whole, resumed, refused, offline, two_at_once, a_run_starts_from_them):
            with Folder() as temporary:
                part(*((temporary,) if part is offline else (live, temporary)))
            print(f"{part.__name__}: ok", flush=True)
        live.shutdown()
