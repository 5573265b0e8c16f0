"""A real S3 server (moto) on loopback, and before it a proxy that counts, checks signatures as Amazon's own library makes them, and does
to answers what networks and servers do: it is what the program under test talks to."""
import hashlib
import http.client
import http.server
import logging
import re
import socket
import struct
import threading
import time

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import ThreadedMotoServer

KEY, SECRET, TOKEN, REGION = "AKIATESSERATEST00001", "s3cr3t/of+this=test0123456789abcdefXYZ", "session-token-of-this-test-AAAA", "eu-central-1"


class Fault:
    """What happens to requests whose method and path match, `times` of them."""

    def __init__(self, path, kind, times=1, method="GET", at=None, **more):
        self.path, self.kind, self.times, self.method, self.at, self.more = path, kind, times, method, at, more

    def takes(self, method, path):
        if self.times == 0 or method != self.method or not re.search(self.path, path):
            return False
        self.times -= 1
        return True


class Server:
    def __init__(self):
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.moto.start()
        self.upstream = self.moto.get_host_and_port()
        self.faults, self.seen, self.lock = [], [], threading.Lock()
        self.public = False  # answers requests that are not signed
        self.hang_s = 20
        self.proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.proxy.daemon_threads = True
        self.proxy.handle_error = lambda *_: None  # clients go away, and are meant to
        self.proxy.owner = self
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.proxy.server_address[1]}"

    def stop(self):
        self.proxy.shutdown()
        self.moto.stop()

    def plan(self, *faults):
        """From now on these, and counting begins anew."""
        with self.lock:
            self.faults, self.seen = list(faults), []

    def bodies(self, part, status=(200, 206)):
        """GETs of objects whose path holds `part` that were answered with content."""
        with self.lock:
            return [r for r in self.seen if r["method"] == "GET" and part in r["path"] and r["status"] in status]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_any(self):
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        record = {"method": self.command, "path": self.path, "range": self.headers.get("Range"), "status": 0}
        with owner.lock:
            owner.seen.append(record)
            fault = next((f for f in owner.faults if f.takes(self.command, self.path)), None)
        refusal = None if owner.public else refused(self.command, self.path, self.headers, body)
        if refusal:
            return self.answer(record, 403, error_xml("SignatureDoesNotMatch" if "Authorization" in self.headers else "AccessDenied", refusal))
        if fault and fault.kind == "status":
            return self.answer(record, fault.at, fault.more.get("body", error_xml("SlowDown", "Please reduce your request rate.")),
                               fault.more.get("headers", {}))
        if fault and fault.kind == "hang":
            time.sleep(owner.hang_s)
            self.close_connection = True
            return None
        if fault and fault.kind == "reset_first":
            return self.reset()
        upstream = http.client.HTTPConnection(*owner.upstream, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection", "authorization", "expect")}
        headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=mock/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        upstream.request(self.command, self.path, body=body, headers=headers)
        reply = upstream.getresponse()
        content = reply.read()
        upstream.close()
        sent = {name: value for name, value in reply.getheaders() if name.lower() not in ("connection", "transfer-encoding", "content-length", "server", "date")}
        if fault and fault.kind == "act_then_reset":  # the server did it, and nobody hears of it
            return self.reset()
        if fault and fault.kind == "before":  # something happens on the server meanwhile
            fault.more["do"]()
        if fault and fault.kind == "corrupt":
            content = content[:fault.at] + bytes([content[fault.at] ^ 0x55]) + content[fault.at + 1:]
        if fault and fault.kind == "etag":
            sent = {**{n: v for n, v in sent.items() if n.lower() != "etag"}, "ETag": '"0123456789abcdef0123456789abcdef"'}
        if fault and fault.kind == "shorter":  # a length that is not the object's
            content = content[:fault.at]
        return self.answer(record, reply.status, content, sent, fault, length=reply.getheader("Content-Length") if self.command == "HEAD" else None)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    def answer(self, record, status, content, headers=(), fault=None, length=None):
        record["status"] = status
        content = content.encode() if isinstance(content, str) else content
        kind = fault.kind if fault else ""
        try:
            self.send_response(status)
            for name, value in dict(headers).items():
                self.send_header(name, value)
            if status not in (204, 304):
                self.send_header("Content-Length", length or str(len(content)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if kind in ("cut", "reset", "stall", "drip"):
                self.wfile.write(content[:fault.at])
                self.wfile.flush()
            if kind == "cut":
                self.connection.shutdown(socket.SHUT_RDWR)
            elif kind == "reset":
                self.reset()
            elif kind == "stall":
                time.sleep(self.server.owner.hang_s)
            elif kind == "drip":
                for at in range(fault.at, len(content), 65536):
                    time.sleep(fault.more["pause"])
                    self.wfile.write(content[at:at + 65536])
                    self.wfile.flush()
            else:
                self.wfile.write(content)
            if kind in ("cut", "stall"):
                self.close_connection = True
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


def error_xml(code, message):
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'


def refused(method, path, headers, body):
    """Why a request is not rightly signed, by botocore's own arithmetic; None where it is."""
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)",
                         headers.get("Authorization", ""))
    if not found:
        return "Access Denied"
    key, _, region, signed, signature = found.groups()
    if key != KEY or region != REGION:
        return f"unknown key or region {region}"
    if "x-amz-security-token" in signed.split(";") and headers["x-amz-security-token"] != TOKEN:
        return "another token"
    if headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
        return "another content"
    if not {"host", "x-amz-content-sha256", "x-amz-date"} <= set(signed.split(";")):
        return "too little is signed"
    request = AWSRequest(method, f"http://{headers['Host']}{path}", headers={name: headers[name] for name in signed.split(";")}, data=body)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = S3SigV4Auth(Credentials(KEY, SECRET), "s3", region)
    right = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return None if right == signature else "The request signature we calculated does not match the signature you provided."
