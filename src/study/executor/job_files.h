#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace tessera {

// What a job leaves in its folder, wherever it runs.
inline constexpr const char* kJobScript = "job.sh";      // what was started, for a shell and for people
inline constexpr const char* kJobOutput = "output.txt";  // both streams
inline constexpr const char* kJobExitCode = "exit_code";

// What the script does at its end, for whoever runs a job's command without it. Throws Error where it cannot be written.
void leave_exit_code(const std::filesystem::path& folder, int code);

// Nothing where the job has not ended, or was ended with its shell.
std::optional<int> read_exit_code(const std::filesystem::path& folder);

// The last lines of the output that are not empty, to say why a job failed; "" where there is none.
std::string last_output(const std::filesystem::path& folder, size_t lines = 3);

}  // namespace tessera
