#include "weights/maps/match.h"

#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "core/log.h"
#include "weights/maps/head_classes.h"

namespace tessera {
namespace {

constexpr size_t kNamesShown = 12;
constexpr const char* kNotInFile = "not in the file";

struct WeightCopy {
  std::string_view name;  // the model's
  at::Tensor to, from;
};

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("({})", fmt::join(tensor.sizes(), ", "));
}

// Fits `theirs` to the shape of `ours` where there is a rule for it, and says which in `note`; nothing if there is none.
std::optional<at::Tensor> adapt(const std::string& name, const at::Tensor& ours, const at::Tensor& theirs,
                                const MatchOptions& options, std::string& note) {
  const std::string shapes = shape_text(theirs) + " to " + shape_text(ours);
  const bool position = name.ends_with("pos_embed");
  if (position && ours.dim() == 3 && theirs.dim() == 3 && ours.size(2) == theirs.size(2)) {
    const bool linear = options.position_fit == PositionFit::kBilinear;
    note = fmt::format("positions resized ({}) from {}", linear ? "bilinear" : "bicubic", shapes);
    return resize_positions(theirs, ours.size(1), options.position_grid, options.position_fit);
  }
  const bool convs = ours.dim() == 4 && theirs.dim() == 4;
  if (convs && ours.size(0) == theirs.size(0) && theirs.size(1) == 3 && ours.sizes().slice(2) == theirs.sizes().slice(2)) {
    note = fmt::format("input channels {} from {}", ours.size(1) == 1 ? "summed" : "repeated", shapes);
    return adapt_in_channels(theirs, ours.size(1));
  }
  // A linear layer and a 1x1 convolution are the same numbers.
  const bool pointwise = (ours.dim() == 4 && theirs.dim() == 2) || (ours.dim() == 2 && theirs.dim() == 4);
  if (pointwise && ours.numel() == theirs.numel() && ours.size(0) == theirs.size(0)) {
    note = "reshaped from " + shapes;
    return theirs.reshape(ours.sizes());
  }
  return std::nullopt;
}

std::string first_names(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kNamesShown);
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<int64_t>(shown));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

constexpr const char* word_of(MatchStatus status) {
  switch (status) {
    case MatchStatus::kLoaded: return "loaded";
    case MatchStatus::kReshaped: return "reshaped";
    case MatchStatus::kReinitialised: return "reinitialised";
    case MatchStatus::kMissing: return "missing";
    case MatchStatus::kUnused: return "unused";
  }
  return "";
}

// A trained head of which a part is left at random looks like a trained one. A file made for as many classes must therefore
// give the whole of a head that it has; of one made for other classes it is said what else than the classes differs.
void check_head(const MatchReport& report, const NamedTensors& model, const NamedTensors& file, const MatchOptions& options,
                const std::string& file_name) {
  const auto ours = classes_of(model), theirs = classes_of(file);
  if (!theirs) return;
  std::vector<std::string> fresh, strange, misfits, within;
  for (const MatchRow& row : report.rows) {
    if (row.status == MatchStatus::kReinitialised) (row.note == kNotInFile ? fresh : misfits).push_back(row.name);
    if (row.status == MatchStatus::kUnused && is_of_a_head(row.name)) strange.push_back(row.name);
    if (row.within && is_of_a_head(row.name)) within.push_back(row.name);
  }
  std::string differ;
  if (fresh.empty() && !within.empty())
    differ = fmt::format("{} of its head's tensors have no place in the model ({})", within.size(), first_names(within));
  if (!fresh.empty() && !strange.empty())
    differ =
        fmt::format("{} of its head's tensors have no place in the model ({}), and {} of the model's head are not in it ({})",
                    strange.size(), first_names(strange), fresh.size(), first_names(fresh));
  if (!misfits.empty() && ours == theirs)
    differ += fmt::format("{}{} of its head's tensors have another shape ({})", differ.empty() ? "" : ", and ", misfits.size(),
                          first_names(misfits));
  if (differ.empty()) return;
  TSR_CHECK(
      ours != theirs || options.allow_missing,
      "{}: its {} classes are as many as the model's, but {}; the head would be another one than that which was trained. Set "
      "the model as the file's was; --allow-missing takes what fits and keeps fresh values for the rest",
      file_name, *theirs, differ);
  log_warn("{}: {}; what the file does not give starts at random", file_name, differ);
}

std::string_view part_of(std::string_view name) {
  return name.substr(0, name.find('.'));
}

bool starts_with_any(std::string_view name, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](const std::string& one) { return name.starts_with(one); });
}

// Squeeze-and-excitation in residual blocks, the scales of a transformer's layers, normalised queries: without them the other
// weights of such a backbone are those of another function, though each of them fits.
void check_strangers(const MatchReport& report, const MatchOptions& options, const std::string& file_name) {
  std::vector<std::string> strangers;
  for (const MatchRow& row : report.rows) {
    const bool second_token = row.name.ends_with("dist_token");  // DeiT's: a plain ViT may begin without it
    if (row.within && !is_of_a_head(row.name) && !second_token) strangers.push_back(row.name);
  }
  TSR_CHECK(
      strangers.empty() || options.allow_missing,
      "{}: {} of its tensors have no place in the model, which would compute something else without them: {}; set the model "
      "as the file's was, or --allow-missing starts with what fits",
      file_name, strangers.size(), first_names(strangers));
}

// Quantised weights, or numbers that are no weights: as floats they would be something else.
void refuse_whole_numbers(const std::vector<WeightCopy>& copies, const std::string& file_name) {
  std::vector<std::string> names;
  for (const WeightCopy& copy : copies) {
    if (copy.to.is_floating_point() && !copy.from.is_floating_point())
      names.push_back(fmt::format("{} ({})", copy.name, c10::toString(copy.from.scalar_type())));
  }
  TSR_CHECK(names.empty(),
            "{}: {} tensors are not of floating point, as the model's are: {}; are they quantised? Save the weights as float32",
            file_name, names.size(), first_names(names));
}

// A sum is not finite if one of its numbers is not. The other way round it may have overflown: then the numbers decide.
bool is_finite(const at::Tensor& tensor) {
  return !tensor.is_floating_point() || tensor.sum().isfinite().item<bool>() || tensor.isfinite().all().item<bool>();
}

// Each tensor is looked at where it has just been copied to: it is still in the cache, and a float64 may have been too large
// for a float32.
void copy_all(std::vector<WeightCopy>& copies, const std::string& file_name) {
  const at::NoGradGuard no_grad;
  std::vector<std::string> infinite;
  for (WeightCopy& copy : copies) {
    copy.to.copy_(copy.from);
    if (!is_finite(copy.to)) infinite.emplace_back(copy.name);
  }
  if (!infinite.empty())
    log_warn("{}: {} tensors hold NaN or infinity: {}; what a model makes of them is NaN", file_name, infinite.size(),
             first_names(infinite));
}

}  // namespace

size_t MatchReport::count(MatchStatus status) const {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const MatchRow& row) { return row.status == status; }));
}

std::string MatchReport::summary() const {
  return fmt::format("{} loaded, {} reshaped, {} reinitialised, {} missing, {} unused", count(MatchStatus::kLoaded),
                     count(MatchStatus::kReshaped), count(MatchStatus::kReinitialised), count(MatchStatus::kMissing),
                     count(MatchStatus::kUnused));
}

std::string MatchReport::table() const {
  std::string out = summary() + "\n";
  for (const MatchRow& row : rows) {
    if (row.status == MatchStatus::kLoaded) continue;
    out += fmt::format("  {:<14} {}{}{}\n", word_of(row.status), row.name, row.note.empty() ? "" : "  ", row.note);
  }
  return out;
}

MatchReport match_weights(const NamedTensors& model, const NamedTensors& file, const MatchOptions& options,
                          const std::string& file_name) {
  std::unordered_map<std::string_view, const at::Tensor*> theirs;
  for (const auto& [name, tensor] : file) {
    TSR_CHECK(theirs.emplace(name, &tensor).second, "{}: two of its tensors come to be called '{}'", file_name, name);
  }
  MatchReport report;
  std::vector<WeightCopy> copies;
  std::vector<std::string> missing, misfits;
  std::set<std::string_view> used, parts;
  for (const auto& [name, ours] : model) {
    parts.insert(part_of(name));
    const auto found = theirs.find(name);
    const bool head = starts_with_any(name, options.head_prefixes);
    if (found == theirs.end()) {
      report.rows.push_back({name, head ? MatchStatus::kReinitialised : MatchStatus::kMissing, kNotInFile});
      if (!head) missing.push_back(name);
      continue;
    }
    used.insert(found->first);
    const at::Tensor& value = *found->second;
    if (value.sizes() == ours.sizes()) {
      report.rows.push_back({name, MatchStatus::kLoaded, ""});
      copies.push_back({name, ours, value});
      continue;
    }
    std::string note;
    if (const auto adapted = adapt(name, ours, value, options, note)) {
      report.rows.push_back({name, MatchStatus::kReshaped, note});
      copies.push_back({name, ours, *adapted});
      continue;
    }
    note = fmt::format("the file has {}, the model {}", shape_text(value), shape_text(ours));
    report.rows.push_back({name, head ? MatchStatus::kReinitialised : MatchStatus::kMissing, note});
    if (!head) misfits.push_back(fmt::format("{}: {}", name, note));
  }
  for (const auto& [name, tensor] : file) {
    if (used.contains(name)) continue;
    const bool within = parts.contains(part_of(name)) && !starts_with_any(name, options.unneeded);
    report.rows.push_back({name, MatchStatus::kUnused, shape_text(tensor), within});
  }
  TSR_CHECK(!copies.empty(), "{}: none of its {} tensors fits the model: it has {}, the model {}", file_name, file.size(),
            file.empty() ? "nothing" : file.front().first, model.empty() ? "nothing" : model.front().first);
  TSR_CHECK(misfits.empty(), "{}: {} tensors have another shape than the model's: {}; set the model as the file's was",
            file_name, misfits.size(), first_names(misfits));
  TSR_CHECK(
      missing.empty() || options.allow_missing,
      "{}: {} of the model's {} tensors are missing: {}; is it of another model? --allow-missing keeps their fresh values",
      file_name, missing.size(), model.size(), first_names(missing));
  check_strangers(report, options, file_name);
  check_head(report, model, file, options, file_name);
  refuse_whole_numbers(copies, file_name);
  copy_all(copies, file_name);
  return report;
}

}  // namespace tessera
