#include "launch/cluster/job_secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "core/hmac.h"
#include "core/log.h"
#include "core/loopback.h"
#include "launch/node/file_handle.h"

namespace tessera {
namespace {

constexpr size_t kShortest = 16, kLongest = 4096;
constexpr const char* kFileName = "TESSERA_JOB_SECRET_FILE";
constexpr const char* kName = "TESSERA_JOB_SECRET";

std::string checked(std::string text, const std::string& source) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  if (text.size() < kShortest || text.size() > kLongest) {
    fail_usage("{} holds {} characters; a secret has {} to {}: make one with openssl rand -hex 32", source, text.size(),
               kShortest, kLongest);
  }
  return text;
}

std::string read_secret_file(const std::string& path) {
  const std::string source = fmt::format("{}={}", kFileName, path);
  const FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) fail_usage("{}: {}; it must be a file that this process can read", source, std::strerror(errno));
  struct stat about {};
  fstat(file.fd(), &about);
  const bool ours = about.st_uid == geteuid() || about.st_uid == 0;
  if (!ours || (about.st_mode & 077) != 0) {
    fail_usage("{}: the file {} (mode {:03o}); a secret is for its owner alone: chmod 600 {}", source,
               ours ? "is open to other users" : "belongs to another user", about.st_mode & 0777, path);
  }
  std::string text;
  std::array<char, kLongest> buffer{};
  for (ssize_t got = 0; text.size() <= kLongest && (got = read(file.fd(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(got));
  return checked(text, source);
}

std::optional<std::string> value_of(const RankVariables& variables, const char* name) {
  auto value = variables.get(name);
  return value && !value->empty() ? value : std::nullopt;
}

bool asks_for_insecure(const RankVariables& variables) {
  const auto value = value_of(variables, "TESSERA_INSECURE");
  return value && *value != "0";
}

}  // namespace

JobSecret::JobSecret(std::string known) : value_(std::move(known)) {}

JobSecret::JobSecret(std::unique_ptr<SharedSecret> file, bool first) : file_(std::move(file)) {
  if (first) value_ = file_->create();
}

std::optional<std::string> JobSecret::look() {
  if (!value_) value_ = file_->read();
  return value_;
}

std::string JobSecret::wait(double seconds) {
  const double began = monotonic_s();
  while (!look()) {
    TSR_CHECK(monotonic_s() - began < seconds,
              "the secret of this job is not where its first process leaves it ({}), or is not only for this user; start the "
              "job in a folder that all its hosts share, or give all its processes {}",
              places(), ways_to_give_a_secret());
    usleep(200000);
  }
  return *value_;
}

void JobSecret::all_have_it() {
  if (file_) file_->remove();
}

std::string make_secret() {
  return hex_of(random_bytes(32));
}

std::string ways_to_give_a_secret() {
  return fmt::format(
      "the same secret: {}=FILE, a file for their user alone, made once by (umask 077; openssl rand -hex 32 > FILE); or "
      "{}, the text itself; or, on a network where you trust everybody, --insecure (TESSERA_INSECURE=1)",
      kFileName, kName);
}

std::optional<std::string> given_secret(const RankVariables& variables) {
  if (const auto path = value_of(variables, kFileName)) return read_secret_file(*path);
  if (const auto text = value_of(variables, kName)) return checked(*text, kName);
  return std::nullopt;
}

std::string secret_from_stdin(double seconds) {
  const double end = monotonic_s() + seconds;
  std::string line;
  for (char c = 0; c != '\n' && line.size() <= kLongest;) {
    pollfd file{STDIN_FILENO, POLLIN, 0};
    const double left = end - monotonic_s();
    const int ready = left > 0 ? poll(&file, 1, static_cast<int>(left * 1e3) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    // One by one: what follows is for others to read.
    if (ready != 1 || read(STDIN_FILENO, &c, 1) != 1) break;
    if (c != '\n') line += c;
  }
  constexpr std::string_view kWord = "secret ";
  TSR_CHECK(line.starts_with(kWord) && line.size() >= kWord.size() + kShortest,
            "the launcher that started this one has not told it the job's secret on its standard input; is it of the same "
            "version, and does --ssh pass standard input on?");
  return line.substr(kWord.size());
}

JobSecret launcher_secret(const LaunchOptions& options, const LaunchLayout& layout, const RankVariables& variables) {
  if (options.reads_stdin && layout.num_nodes > 1) return JobSecret(secret_from_stdin(options.start_timeout_s));
  if (layout.num_nodes == 1) return JobSecret(make_secret());
  if (const auto given = given_secret(variables)) return JobSecret(*given);
  if (options.insecure || asks_for_insecure(variables)) {
    if (layout.node_rank == 0) {
      log_warn("--insecure: whoever reaches {} port {} may join this job, end it or fake its results", layout.master_addr,
               layout.master_port);
    }
    return JobSecret("");
  }
  if (const std::string job = scheduler_job(variables); !job.empty())
    return {std::make_unique<SharedSecret>(job, job_folders(variables)), layout.node_rank == 0};
  if (is_loopback(layout.master_addr)) return JobSecret("");
  fail_usage("{} nodes would take orders from whoever reaches {} port {}; give all of them {}", layout.num_nodes,
             layout.master_addr, layout.master_port, ways_to_give_a_secret());
}

JobSecret rank_secret(const RankSpec& spec, const RankVariables& variables) {
  if (const auto given = given_secret(variables)) return JobSecret(*given);
  // RANK is set by another launcher, which the scheduler may have started: then its ranks are not those of the scheduler's job.
  const bool by_mpirun = spec.num_nodes > 1 && !value_of(variables, "RANK") && value_of(variables, "OMPI_COMM_WORLD_RANK");
  const std::string job = by_mpirun || !spec.srun_step.empty() ? scheduler_job(variables) : "";
  if (!job.empty() && !asks_for_insecure(variables))
    return {std::make_unique<SharedSecret>(job, job_folders(variables)), spec.rank == 0};
  const bool told = variables.get("TESSERA_GENERATION").has_value();  // by our launcher, which started this rank
  if (spec.rank == 0 && spec.num_nodes > 1 && !told && !is_loopback(spec.master_addr)) {
    log_warn(
        "these ranks have no secret: whoever reaches {} port {} can take the place of one, and end the job; give all of them "
        "{}",
        spec.master_addr, spec.master_port, ways_to_give_a_secret());
  }
  return JobSecret("");
}

}  // namespace tessera
