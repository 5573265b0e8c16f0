#include "study/controller/log_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/descriptor.h"
#include "report/run_history.h"
#include "report/run_totals.h"

namespace tessera {

using nlohmann::json;

LogFollower::LogFollower(std::filesystem::path log, std::vector<std::string> metrics)
    : path_(std::move(log)), metrics_(std::move(metrics)) {}

double LogFollower::images_per_s() const {
  return median(speeds_);
}

void LogFollower::read() {
  const Descriptor file(path_, O_RDONLY);
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0) return;
  if (info.st_ino != file_ || info.st_size < offset_) {
    LogFollower anew(path_, metrics_);
    anew.file_ = info.st_ino;
    *this = std::move(anew);
  }
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t got = ::pread(file.get(), block.data(), block.size(), offset_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    offset_ += got;
    begun_.append(block.data(), static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = 0; (end = begun_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const json line = json::parse(begun_.begin() + static_cast<std::ptrdiff_t>(begin),
                                    begun_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, /*allow_exceptions=*/false);
      if (line.is_object()) take(line);
    }
    begun_.erase(0, begin);
  }
}

void LogFollower::take(const json& line) {
  const auto number = [&](const char* key, double otherwise) {
    const auto found = line.find(key);
    return found != line.end() && found->is_number() ? found->get<double>() : otherwise;
  };
  const auto text = [&](const char* key) {
    const auto found = line.find(key);
    return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string type = text("type");
  time_ = number("time", time_);
  step_ = static_cast<int64_t>(number("step", static_cast<double>(step_)));
  if (type == "start" || type == "resume") {
    status_.clear();
    warning_.clear();
    parameters_ = number("parameters", parameters_);
    total_ = static_cast<int64_t>(number("total_steps", static_cast<double>(total_)));
  } else if (type == "train") {
    memory_mb_ = std::max(memory_mb_, number("memory_mb", 0));
    if (const double speed = number("images_per_s", 0); speed > 0) speeds_.push_back(speed);
  } else if (type == "eval") {
    const EvalPoint point = eval_point(line);
    Evaluation evaluation{.step = point.step, .epoch = point.epoch};
    for (const std::string& metric : metrics_) evaluation.values.push_back(point.metric(metric));
    evaluations_.push_back(std::move(evaluation));
    known_.clear();
    for (const auto& [name, value] : point.metrics) known_.push_back(name);
    for (const auto& [name, value] : point.class_metrics) known_.push_back(name);
  } else if (type == "warning") {
    warning_ = text("text");
  } else if (type == "end") {
    status_ = text("status");
    seconds_ = number("seconds", seconds_);
  }
}

}  // namespace tessera
