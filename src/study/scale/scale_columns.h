#pragma once
#include <string>
#include <vector>

#include "study/scale/scale_table.h"

namespace tessera {

// A column of a scaling study's table, once for all the places where it is shown.
struct ScaleColumn {
  const char* key;    // in scale.csv and scale.json
  const char* title;  // on a terminal and on the page
  const char* help;
  double ScaleRow::*value;
  enum class Look { kNumber, kSeconds, kShare, kMemory, kMetric } look;
};

const std::vector<ScaleColumn>& scale_columns();

// Those in which any row has a number.
std::vector<ScaleColumn> shown_columns(const ScaleTable& table);

// As a person reads it; an en dash where it is not known.
std::string cell_text(const ScaleColumn& column, const ScaleRow& row);

}  // namespace tessera
