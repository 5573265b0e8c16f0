"""Those who come to the port of a launcher without being asked, for the tests: with the secret of the job, with another, or with none."""
import hashlib
import hmac
import json
import os
import pathlib
import secrets
import socket


class Stranger:
    """A connection to node 0. Keeps all it hears."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.heard = b""

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass  # dropped already
        return self

    def line(self, timeout=10):
        """The next line, or "" at the end or after the time."""
        self.socket.settimeout(timeout)
        while b"\n" not in self.heard:
            try:
                got = self.socket.recv(65536)
            except OSError:
                got = b""
            if not got:
                return ""
            self.heard += got
        line, _, self.heard = self.heard.partition(b"\n")
        return line.decode()

    def rest(self, timeout=10):
        """All lines until node 0 closes."""
        lines = []
        while line := self.line(timeout):
            lines.append(line)
        self.close()
        return lines

    def close(self):
        self.socket.close()


class Caller(Stranger):
    """Speaks as a launcher does (src/launch/control/sealed_socket.h), with the secret it is given."""

    key = None

    def __init__(self, port, secret):
        super().__init__(port)
        self.nonce, self.listeners_nonce, self.sent = secrets.token_hex(32), self.line(), 0
        self.key = hmac.digest(secret.encode(), f"tessera launch {self.listeners_nonce}{self.nonce}".encode(), hashlib.sha256)

    def code(self, number, text, side="caller"):
        return hmac.new(self.key, f"{side} {number} {text}".encode(), hashlib.sha256).hexdigest()

    def line(self, timeout=10):
        """Without the one in which node 0 shows that it has the same secret."""
        line = super().line(timeout)
        return super().line(timeout) if self.key and line == f"{self.code(0, '', 'listener')} " else line

    def first(self):
        return f"{self.nonce} {self.code(0, '')}\n".encode()

    def sealed(self, message, number):
        text = message if isinstance(message, str) else json.dumps(message)
        return f"{self.code(number, text)} {text}\n".encode()

    def prove(self):
        self.sent = 1
        return self.send(self.first())

    def say(self, message):
        self.sent += 1
        return self.send(self.sealed(message, self.sent - 1))


def usage_of(pid):
    """(largest memory in MB, seconds of processor time) of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def listening(pids):
    """Addresses, in the kernel's hexadecimal, at which processes listen for TCP."""
    inodes = set()
    for pid in pids:
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(fields[1].partition(":")[0])
    return found


def listens(port):
    wanted = f":{port:04X}"
    return any(fields[3] == "0A" and fields[1].endswith(wanted) for fields in
               (line.split() for table in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]))
