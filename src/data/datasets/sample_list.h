#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"

namespace tessera {

// The positions in `stems` that the list file names, in its order, or all where `list` is empty. The file has one stem per
// line, as it is or as `printable` shows it, an image extension allowed; empty lines and lines that start with '#' are skipped.
// A relative `list` is looked for below `root`, then in the working folder. Throws Error, with the nearest name, for a stem
// that is not there, and for one named twice.
std::vector<size_t> listed_samples(const std::string& list, const fs::path& root, std::span<const std::string> stems);

template <class Item>
std::vector<std::string> names_of(const std::vector<Item>& items, std::string Item::*name) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.*name);
  return names;
}

// The items at `positions`, which names each once; a `count` that is not 0 keeps that many of them, from the first.
template <class Item>
std::vector<Item> pick(std::vector<Item> items, std::span<const size_t> positions, int64_t count) {
  std::vector<Item> picked;
  for (const size_t i : positions.first(count > 0 ? std::min<size_t>(count, positions.size()) : positions.size()))
    picked.push_back(std::move(items[i]));
  return picked;
}

}  // namespace tessera
