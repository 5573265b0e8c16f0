#pragma once
#include <string>
#include <vector>

#include "data/check/finding.h"

namespace tessera {

// The samples of a split that are worth training on, one name per line, as data.<split>.list takes them; the others as comments
// with the reasons for which they were left out.
std::string manifest_text(const Survey& survey, const std::vector<Finding>& findings);

// Key=value pairs with which training uses that list, written to `file`: of a layout that was found, also its folders, since a
// list that is named ends the search for them. Empty where no keys can name the folders, and for sources that take no lists.
std::vector<std::string> manifest_keys(const DataConfig& config, Split split, const std::string& file);

}  // namespace tessera
