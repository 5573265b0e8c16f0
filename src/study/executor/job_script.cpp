#include "study/executor/job_script.h"

#include <fmt/ranges.h>

#include <fstream>

#include "core/files.h"
#include "launch/cluster/ssh_hosts.h"
#include "study/executor/job_files.h"

namespace tessera {
namespace {

constexpr const char* kClaimedBy = "by";

constexpr const char* kTemplate = R"sh(#!/bin/bash
{heading}
job={folder}
cd {working_folder} || exit 1
{claim}trap : HUP INT TERM  # the command is asked to end, and this waits for it

{preparations}{command}
code=$?
echo "$code" > "$job/{exit_code}.part" && mv "$job/{exit_code}.part" "$job/{exit_code}"
exit "$code"
)sh";

constexpr const char* kClaimTemplate = R"sh(
# It starts once, however often it is handed over. To run it again by hand: rm -r "$job/{claim}"
me={own_name}
if ! mkdir "$job/{claim}" 2>/dev/null && [ "$(cat "$job/{claim}/{by}" 2>/dev/null)" != "$me" ]; then
  echo "$job: started before, by: $(cat "$job/{claim}/{by}" 2>/dev/null)"
  exit 0
fi
printf '%s\n' "$me" > "$job/{claim}/{by}"
rm -f "$job/{exit_code}"
)sh";

std::string claim(const JobScript& parts) {
  if (parts.own_name.empty()) return "";
  return fmt::format(fmt::runtime(kClaimTemplate), fmt::arg("own_name", parts.own_name), fmt::arg("claim", kJobClaim),
                     fmt::arg("by", kClaimedBy), fmt::arg("exit_code", kJobExitCode));
}

// A word a line, so that it can be read.
std::string command(const JobScript& parts) {
  std::vector<std::string> words;
  for (const std::string& word : parts.command) words.push_back(shell_quoted(word));
  return fmt::format("{}{}{}", fmt::join(parts.before, " "), parts.before.empty() ? "" : " ", fmt::join(words, " \\\n  "));
}

}  // namespace

std::string job_script(const fs::path& folder, const JobScript& parts) {
  std::string preparations;
  for (const auto& [name, value] : parts.variables) preparations += fmt::format("export {}={}\n", name, shell_quoted(value));
  for (const std::string& line : parts.setup) preparations += line + "\n";
  const std::string absolute = fs::absolute(folder).lexically_normal().string();
  return fmt::format(fmt::runtime(kTemplate), fmt::arg("heading", parts.heading), fmt::arg("folder", shell_quoted(absolute)),
                     fmt::arg("working_folder", shell_quoted(fs::current_path().string())), fmt::arg("claim", claim(parts)),
                     fmt::arg("exit_code", kJobExitCode), fmt::arg("preparations", preparations),
                     fmt::arg("command", command(parts)));
}

std::optional<std::string> claimed_by(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / kJobClaim, error)) return std::nullopt;
  std::ifstream file(folder / kJobClaim / kClaimedBy);
  std::string text;
  std::getline(file, text);
  return text;
}

}  // namespace tessera
