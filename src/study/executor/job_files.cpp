#include "study/executor/job_files.h"

#include <algorithm>
#include <fstream>

#include "core/files.h"
#include "core/printable.h"
#include "core/split.h"
#include "launch/numbers.h"

namespace tessera {

void leave_exit_code(const fs::path& folder, int code) {
  write_file(folder / kJobExitCode, std::to_string(code) + "\n");
}

std::optional<int> read_exit_code(const fs::path& folder) {
  std::ifstream file(folder / kJobExitCode);
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const std::optional<int64_t> code = parse_whole(text);
  return code ? std::optional(static_cast<int>(*code)) : std::nullopt;
}

std::string last_output(const fs::path& folder, size_t lines) {
  constexpr std::streamoff kMost = 4096;
  std::ifstream file(folder / kJobOutput, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg(), begin = std::max<std::streamoff>(0, size - kMost);
  std::string tail(static_cast<size_t>(size - begin), '\0');
  file.seekg(begin);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  std::vector<std::string> found = split(tail, '\n');
  std::erase_if(found, [](const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; });
  if (found.size() > lines) found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(lines));
  std::string text;
  for (const std::string& line : found) text += (text.empty() ? "" : "\n") + printable(line);
  return text;
}

}  // namespace tessera
