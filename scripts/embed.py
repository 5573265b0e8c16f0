"""Turns files into a C++ source: embed.py OUTPUT NAME PATH [NAME PATH ...]."""
import pathlib
import sys

CHUNK = 8000  # compilers limit the length of one string literal, not of their concatenation in an array


def literal(data):
    escaped = []
    for byte in data:
        if byte in b'"\\?':
            escaped.append("\\" + chr(byte))
        elif 32 <= byte < 127:
            escaped.append(chr(byte))
        else:
            escaped.append(f"\\{byte:03o}")
    return '"' + "".join(escaped) + '"'


def main(output, *pairs):
    lines = ['#include "report/embedded.h"', "", "#include <array>", "#include <string>", "", "namespace tessera {", "namespace {", ""]
    names = []
    for index, (name, path) in enumerate(zip(pairs[::2], pairs[1::2])):
        data = pathlib.Path(path).read_bytes()
        chunks = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)] or [b""]
        lines.append(f"const std::string& file{index}() {{")
        lines.append("  static const std::string content = [] {")
        lines.append("    std::string text;")
        lines += [f"    text.append({literal(c)}, {len(c)});" for c in chunks]
        lines += ["    return text;", "  }();", "  return content;", "}", ""]
        names.append(f'  if (name == "{name}") return file{index}();')
    lines += ["}  // namespace", "", "std::string_view embedded_file(std::string_view name) {", *names, "  return {};", "}", "", "}  // namespace tessera", ""]
    pathlib.Path(output).write_text("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
