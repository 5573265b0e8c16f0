#pragma once
#include <array>
#include <string>
#include <vector>

#include "weights/formats/safetensors.h"
#include "weights/maps/adapt.h"

namespace tessera {

struct MatchOptions {
  bool allow_missing = false;                // keep what is not in the file as it is, wherever it is
  std::vector<std::string> head_prefixes{};  // parameters that may differ: another data set has other classes
  std::vector<std::string> unneeded{};       // beginnings of names that a backbone has and the model does without
  PositionFit position_fit = PositionFit::kBicubic;
  std::array<int64_t, 2> position_grid{0, 0};  // of the model, (0, 0) for a square
};

enum class MatchStatus {
  kLoaded,
  kReshaped,       // adapted: other input channels, other position grid, other memory layout of the same numbers
  kReinitialised,  // in the head and of another shape, or not in the file: the model's fresh values stay
  kMissing,        // not in the file, outside the head
  kUnused,         // in the file, not in the model
};

struct MatchRow {
  std::string name;
  MatchStatus status;
  std::string note;
  bool within = false;  // kUnused, though the model has the part that it is of: the file's part is another one
};

// What became of every key of the model and of the file.
struct MatchReport {
  std::vector<MatchRow> rows;  // the model's in its order, then the unused ones
  size_t count(MatchStatus status) const;
  std::string summary() const;  // one line
  std::string table() const;    // the summary, then every key that was not simply loaded
};

// Copies the file's tensors into the model's, which must have our names (key_map.h). Nothing is copied unless all of it can
// be: a key missing outside the head, one that is too much in a part that the model has, a shape that does not fit, a head for
// as many classes with other tensors than the model's, or whole numbers in place of floats are Errors that list them, and the
// model stays as it was. NaN and infinity are copied, with a warning. `file_name` is for messages.
MatchReport match_weights(const NamedTensors& model, const NamedTensors& file, const MatchOptions& options,
                          const std::string& file_name);

}  // namespace tessera
