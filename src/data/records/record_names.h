#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"

namespace tessera {

// Which of a record's columns or features are what.
struct RecordNames {
  std::string image;
  std::string labels;  // empty: there are none
  std::string id;      // empty: there are none
};

// A part that a record has. `picture`: its values may be images.
struct RecordPart {
  std::string name;
  std::string what;  // "jpeg", for messages
  bool picture = true;
};

// "x (jpeg), y (png)"
std::string parts_text(const std::vector<RecordPart>& parts);

// As the config says (data.records.image, labels, id), and where it does not by the names that are usual: x, image, jpg for
// images, y, labels, mask, png for labels, uid, id, name for names, in any case of letters. Throws UsageError, with what there
// is and the nearest name, where a part that the config names is not there or is no picture, and where there is no image.
RecordNames choose_names(const RecordsConfig& config, const std::vector<RecordPart>& parts, const std::string& where);

}  // namespace tessera
