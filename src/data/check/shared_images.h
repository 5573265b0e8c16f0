#pragma once
#include <string>
#include <utility>
#include <vector>

#include "data/check/survey.h"

namespace tessera {

// Images that are in both splits, pixel by pixel: the name in each. One pair per image of `val`.
std::vector<std::pair<std::string, std::string>> shared_images(const Survey& train, const Survey& val);

}  // namespace tessera
