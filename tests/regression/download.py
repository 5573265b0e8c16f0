"""Weights fetched over HTTP from a server of this test's own: whole, resumed after a cut connection, with a wrong checksum, from
servers that fail, offline, by two processes at once, and as model.pretrained of a run that is resumed without them. Nothing is taken
from a server that leads out of https, that sends without end, or through what somebody else put into the cache."""
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

from support import TINY, Folder, check, program, tessera

CONTENT = b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(40_000))  # 1.28 MB that look like weights
DIGEST = hashlib.sha256(CONTENT).hexdigest()
HALF = len(CONTENT) // 2
PROXIES = {name: "" for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}


class Server(http.server.ThreadingHTTPServer):
    """Answers each path by `answers[path]`, a function of the handler; keeps the headers of all requests. With a certificate: by https."""

    def __init__(self, certificate=None, key=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.answers, self.seen, self.lock = {}, {}, threading.Lock()
        self.daemon_threads = True
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path, answer):
        self.answers[path] = answer
        self.seen[path] = []
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}{path}"

    def handle_error(self, *_):
        pass  # clients go away, and are meant to


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


def fetch(folder, url, expect=0, **variables):
    return tessera("models", "fetch", url, expect=expect, env={**PROXIES, "TESSERA_CACHE": str(folder / "cache"), **variables})


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
    fetch(folder, f"{url}#sha256={DIGEST}")
    check(len(server.seen["/redirect/model.pth"]) == 1, "a file that is in the cache was fetched again")
    # Exchanged behind our back, of the same size and date.
    date = file.stat().st_mtime_ns
    other = file.with_name("other")
    other.write_bytes(CONTENT[::-1])
    os.utime(other, ns=(date, date))
    other.rename(file)
    _, errors = fetch(folder, f"{url}#sha256={DIGEST}", expect=1)
    check(f"its sha256 is {hashlib.sha256(CONTENT[::-1]).hexdigest()}, expected {DIGEST}" in errors, errors)
    file.unlink()
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
    wrong = "0" * 64
    url = server.url("/wrong.pth", Handler.send_content)
    _, errors = fetch(folder, f"{url}#sha256={wrong}", expect=1)
    check(f"its sha256 is {DIGEST}, expected {wrong}" in errors and "it was not kept" in errors, errors)
    check(not leftovers(folder), leftovers(folder))
    shutil.rmtree(folder / "cache")
    for odd, why in [(url.replace("/wrong.pth", "/."), "names no file"), (url.replace("/wrong.pth", "/..?x"), "names no file"),
                     (f"{url}#sha256={DIGEST[:8]}", "expects all 64 hex digits, got 8"), (f"{url}#sha256=2", "expects all 64 hex digits, got 1")]:
        _, errors = fetch(folder, odd, expect=2)
        check(why in errors and not (folder / "cache").exists(), f"{odd}: {errors}")

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
    check(not leftovers(folder, ".lock"), leftovers(folder))


def too_large(server, folder):
    def endless(handler):
        handler.begin(200, None)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            handler.wfile.write(CONTENT)

    def boasting(handler):
        handler.begin(200, 10**15)
        handler.wfile.write(CONTENT)

    one_mb = {"TESSERA_MAX_DOWNLOAD_GB": "0.001"}
    _, errors = fetch(folder, server.url("/endless.pth", endless), expect=1, **one_mb)
    check("the file has more than 0.001 GB (the server does not say how many); set TESSERA_MAX_DOWNLOAD_GB" in errors, errors)
    _, errors = fetch(folder, server.url("/said.pth", Handler.send_content), expect=1, **one_mb)
    check("the file has more than 0.001 GB (0.00128 GB)" in errors, errors)
    _, errors = fetch(folder, server.url("/boast.pth", boasting), expect=1)
    check("the file has more than 20 GB (1e+06 GB)" in errors, errors)
    _, errors = fetch(folder, server.url("/disk.pth", boasting), expect=1, TESSERA_MAX_DOWNLOAD_GB="100000000")
    check("the file has 1e+06 GB and the disk of" in errors, errors)
    check(not leftovers(folder), f"left behind: {leftovers(folder)}")
    _, errors = fetch(folder, server.url("/said.pth", Handler.send_content), expect=2, TESSERA_MAX_DOWNLOAD_GB="much")
    check("TESSERA_MAX_DOWNLOAD_GB=much: expected a number of gigabytes" in errors, errors)
    fetch(folder, server.url("/said.pth", Handler.send_content), TESSERA_MAX_DOWNLOAD_GB="0.0013")


def what_others_put_there(server, folder):
    """A planted .part must not lead the download elsewhere; the cache is its user's."""
    url = server.url("/planted.pth", lambda handler: handler.begin(404, 0))
    _, errors = fetch(folder, url, expect=1)
    place = pathlib.Path(re.search(r"place it as planted.pth in (\S+),", errors)[1])
    victim = folder / "victim.txt"
    victim.write_text("mine")
    (place / "planted.pth.part").symlink_to(victim)
    (place / "planted.pth.part.tmp").symlink_to(victim)
    server.url("/planted.pth", Handler.send_content)
    out, _ = fetch(folder, url)
    check(victim.read_text() == "mine", "the download was written through a link")
    check(pathlib.Path(out.strip()).read_bytes() == CONTENT and not pathlib.Path(out.strip()).is_symlink(), out)
    for path in (folder / "cache", folder / "cache/weights", place):
        check(path.stat().st_mode & 0o777 == 0o700, f"{path} has mode {path.stat().st_mode:o}")
    (place / "planted.pth").unlink()
    (place / "planted.pth.lock").symlink_to(victim)
    _, errors = fetch(folder, url, expect=1)
    check("planted.pth.lock: it is a link" in errors and victim.read_text() == "mine", errors)


def credentials(server, folder):
    path = "/private.pth?token=t0ken-value&download=true"
    url = server.url(path, Handler.send_content).replace("://", "://somebody:pa55w0rd@")
    out, errors = fetch(folder, url)
    check("Authorization" in server.seen[path][0], "the server did not get the credentials")
    note = next((folder / "cache").rglob("*.seen.json")).read_text()
    check("://***@127.0.0.1" in note and "private.pth?token=***&download=true" in note, note)
    for text in (out, errors, note):
        check("pa55w0rd" not in text and "t0ken-value" not in text and "somebody" not in text, text)
    server.url(path, lambda handler: handler.begin(404, 0))
    next((folder / "cache").rglob("private.pth")).unlink()
    _, errors = fetch(folder, url, expect=1)
    check("the server answered 404" in errors and "pa55w0rd" not in errors and "t0ken-value" not in errors, errors)


def secure_stays_secure(server, folder):
    if not shutil.which("openssl"):
        print("secure_stays_secure: there is no program `openssl` to make a certificate: skipped")
        return
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    plain = server.url("/plain.pth", Handler.send_content)
    with Server(certificate, key) as secure:
        def lead(to):
            return lambda handler: handler.begin(302, 0, Location=to)

        direct = secure.url("/direct.pth", Handler.send_content)
        _, errors = fetch(folder, direct, expect=1)
        check("certificate" in errors.lower(), f"a certificate that nobody vouches for was accepted: {errors}")
        trusted = {"SSL_CERT_FILE": str(certificate)}
        out, _ = fetch(folder, direct, **trusted)
        check(pathlib.Path(out.strip()).read_bytes() == CONTENT, out)
        fetch(folder, secure.url("/stays.pth", lead(direct)), **trusted)
        fetch(folder, server.url("/better.pth", lead(direct)), **trusted)  # from http to https
        _, errors = fetch(folder, secure.url("/leaves.pth", lead(plain)), expect=1, **trusted)
        check("leads from https to another protocol" in errors, errors)
        check(not server.seen["/plain.pth"], "a redirect from https to http was followed")
        check(not leftovers(folder, "leaves.pth*"), leftovers(folder))
        secure.shutdown()


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
        for part in (whole, resumed, refused, too_large, what_others_put_there, credentials, secure_stays_secure, offline, two_at_once,
                     a_run_starts_from_them):
            with Folder() as temporary:
                part(*((temporary,) if part is offline else (live, temporary)))
            print(f"{part.__name__}: ok", flush=True)
        live.shutdown()
