#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// Numbers a line lacks, or had as null because they were not finite, are NaN. See Note [Run log].
struct TrainPoint {
  int64_t step = 0;
  double epoch = kNoValue;
  double loss = kNoValue;
  double lr = kNoValue;
  double grad_norm = kNoValue;
  double images_per_s = kNoValue;
  double data_wait = kNoValue;  // share of the time, 0..1
  double memory_mb = kNoValue;
  double exchange_ms = kNoValue;       // gradients of this step on their way between ranks
  double exchange_wait_ms = kNoValue;  // the part of it that the step waited for
};

// What was found of the objects of a class.
struct ObjectEntry {
  int64_t labelled = 0;
  int64_t predicted = 0;
  int64_t matched = 0;
  double precision = kNoValue;
  double recall = kNoValue;
  double f1 = kNoValue;
  double segmentation_quality = kNoValue;
  double panoptic_quality = kNoValue;
};

struct ClassEntry {
  std::string name{};
  double iou = kNoValue;
  double accuracy = kNoValue;  // recall
  double dice = kNoValue;      // F1
  int64_t pixels = 0;
  double precision = kNoValue;
  double boundary_iou = kNoValue;
  std::optional<ObjectEntry> objects{};  // nothing where they were not counted
};

struct EvalPoint {
  int64_t step = 0;
  double epoch = kNoValue;
  std::map<std::string, double> metrics{};
  std::vector<ClassEntry> per_class{};            // empty when the line has none
  std::vector<std::vector<int64_t>> confusion{};  // [label][prediction]; empty when the line has none
  std::map<std::string, double> class_metrics{};  // "iou/road"

  double metric(const std::string& name) const;  // also of a class; NaN when absent
};

struct BadSampleEntry {
  std::string id{};
  std::string reason{};
  std::string replaced_by{};
};

// Any other line: start, resume, checkpoint, warning, end, and types this version does not know.
struct RunEvent {
  std::string type{};
  double time = kNoValue;
  int64_t step = -1;        // -1: the line has none
  bool superseded = false;  // a later resume went back to before it
  nlohmann::json fields{};
};

struct RunHistory {
  std::vector<TrainPoint> train{};  // without superseded lines
  std::vector<EvalPoint> eval{};    // without superseded lines
  std::vector<BadSampleEntry> bad_samples{};
  std::vector<RunEvent> events{};
  std::string best_metric = "mean_iou";  // that the best checkpoint is chosen by
  double active_seconds = 0;             // time the run was at work; the pause before a start or resume is not counted
  int64_t torn_lines = 0;                // unreadable lines, skipped
  int64_t superseded_lines = 0;          // train and eval lines dropped because of a resume
};

// The point of a line of type "eval".
EvalPoint eval_point(const nlohmann::json& line);

// Throws Error when the file cannot be read; a broken line is only counted.
RunHistory read_run_log(const std::filesystem::path& path);

}  // namespace tessera
