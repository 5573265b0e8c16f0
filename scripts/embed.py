"""Turns files into a C++ source that defines a function over them: embed.py OUTPUT FUNCTION NAME PATH [NAME PATH ...]."""
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


def main(output, function, *pairs):
    lines = ['#include "core/embedded.h"', "", "#include <array>", "#include <string>", "", "namespace tessera {", "namespace {", ""]
    entries = []
    for index, (name, path) in enumerate(zip(pairs[::2], pairs[1::2])):
        data = pathlib.Path(path).read_bytes()
        chunks = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)] or [b""]
        lines.append(f"const std::string& file{index}() {{")
        lines.append("  static const std::string content = [] {")
        lines.append("    std::string text;")
        lines += [f"    text.append({literal(c)}, {len(c)});" for c in chunks]
        lines += ["    return text;", "  }();", "  return content;", "}", ""]
        entries.append(f'      EmbeddedFile{{"{name}", file{index}()}},')
    lines += ["}  // namespace", "", f"EmbeddedFiles {function}();", f"EmbeddedFiles {function}() {{",
              f"  static const std::array<EmbeddedFile, {len(entries)}> all{{", *entries, "  };", "  return all;", "}", "", "}  // namespace tessera", ""]
    pathlib.Path(output).write_text("\n".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
