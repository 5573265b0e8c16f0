#include "launch/cluster/shared_secret.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "launch/cluster/job_secret.h"
#include "launch/node/file_handle.h"

namespace tessera {
namespace {

constexpr size_t kLength = 64;  // of a text of make_secret()

// Of this user, closed to all others, a file and no link to one, nor a second name for one that lies elsewhere.
bool is_private(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() && (about.st_mode & 077) == 0 &&
         about.st_nlink == 1;
}

std::optional<std::string> read_private(const fs::path& path) {
  const FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, kLength> text{};
  if (!file.open() || !is_private(file.fd())) return std::nullopt;
  if (pread(file.fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return std::nullopt;
  return std::string(text.data(), text.size());
}

// "" if the file is there now, else the reason.
std::string write_private(const fs::path& path, const std::string& secret) {
  const FileHandle file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.open()) return std::strerror(errno);
  const bool written =
      write(file.fd(), secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()) && fsync(file.fd()) == 0;
  const std::string why = !written                 ? std::strerror(errno)
                          : !is_private(file.fd()) ? "its files cannot be closed to other users"
                                                   : "";
  if (!why.empty()) unlink(path.c_str());
  return why;
}

}  // namespace

SharedSecret::SharedSecret(const std::string& job, std::vector<fs::path> folders) : paths_(std::move(folders)) {
  for (fs::path& path : paths_) path /= ".tessera-secret-" + job;
}

std::string SharedSecret::create() {
  const std::string secret = make_secret();
  std::vector<std::string> reasons;
  for (const fs::path& path : paths_) {
    const std::string why = write_private(path, secret);
    const auto left = why.empty() ? std::nullopt : read_private(path);
    if (why.empty() || left) {
      created_ = path;
      return left.value_or(secret);
    }
    reasons.push_back(path.string() + ": " + why);
  }
  fail("the secret of this job can be written nowhere ({}); start it in a folder of yours, or give all its processes {}",
       fmt::join(reasons, "; "), ways_to_give_a_secret());
}

std::optional<std::string> SharedSecret::read() const {
  for (const fs::path& path : paths_) {
    if (auto secret = read_private(path)) return secret;
  }
  return std::nullopt;
}

void SharedSecret::remove() {
  if (!created_.empty()) unlink(created_.c_str());
  created_.clear();
}

std::string SharedSecret::places() const {
  std::vector<std::string> names;
  for (const fs::path& path : paths_) names.push_back(path.string());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string scheduler_job(const RankVariables& variables) {
  std::string name;
  // mpirun inside of a Slurm job starts some of its processes by srun and others itself: its own name is the one they share.
  if (variables.get("OMPI_COMM_WORLD_RANK")) {
    const auto space = variables.get("PMIX_NAMESPACE"), number = variables.get("OMPI_MCA_ess_base_jobid");
    if (space || number) name = "mpirun-" + (space ? *space : *number);
  } else if (const auto step = slurm_step(variables)) {
    name = "slurm-" + *step;
  }
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '@'; };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_plain(static_cast<unsigned char>(c)); }, '_');
  return name;
}

std::vector<fs::path> job_folders(const RankVariables& variables) {
  std::error_code error;
  std::vector<fs::path> folders{fs::current_path(error)};
  for (const char* name : {"SLURM_SUBMIT_DIR", "HOME"}) {
    const auto folder = variables.get(name);
    if (folder && folder->starts_with("/") && std::find(folders.begin(), folders.end(), *folder) == folders.end())
      folders.emplace_back(*folder);
  }
  return folders;
}

}  // namespace tessera
