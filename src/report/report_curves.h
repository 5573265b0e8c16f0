#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/run_history.h"

namespace tessera {

// How a series is drawn; the page's script knows these names.
enum class SeriesLook { kFaint, kSmooth, kLine, kArea };

struct CurveSeries {
  std::string label{};
  SeriesLook look = SeriesLook::kLine;
  bool right_axis = false;  // a share 0..1, on an axis of its own
  bool hidden = false;      // until the reader asks for it
  std::vector<double> x{};  // steps
  std::vector<double> y{};  // NaN: a gap
};

// One chart of the report.
struct Curve {
  std::string id{};
  std::string title{};
  std::string summary{};  // the one number a reader looks for
  std::string note{};     // something unusual, such as losses that were not finite
  bool wide = false;
  bool percent = false;  // values are shares 0..1
  std::vector<CurveSeries> series{};
};

inline constexpr size_t kMaxCurvePoints = 2000;

// The charts this run has data for, in the order of the page, each series decimated to kMaxCurvePoints.
std::vector<Curve> make_curves(const RunHistory& history);

// The empty figures of the page, which the script draws into, and the data it draws.
std::string curve_figures(const std::vector<Curve>& curves);
nlohmann::json curve_data(const std::vector<Curve>& curves);

// "mean_iou" -> "mean IoU", "f1/nucleus" -> "F1 of nucleus".
std::string metric_label(const std::string& name);

}  // namespace tessera
