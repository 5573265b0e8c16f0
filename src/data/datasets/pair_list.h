#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/datasets/pair_matching.h"

namespace tessera {

// Many FilePairs in little memory: the files of a pair are its stem with something before and behind, which is the same for
// most pairs. A pair of a stem of n bytes takes about n + 15 of them. Immutable once filled; then any number of threads.
class PairList {
 public:
  PairList() = default;
  explicit PairList(const std::vector<FilePair>& pairs);

  size_t size() const { return begins_.size(); }
  FilePair operator[](size_t index) const;  // index < size()
  std::string stem(size_t index) const;

  size_t bytes() const;  // of memory

 private:
  struct Form {
    std::string before, behind;
  };
  void add(const FilePair& pair);
  void put_file(const std::string& stem, const std::string& file);

  std::string text_;              // of all pairs: stem, number of files, each as the number of its form
  std::vector<uint64_t> begins_;  // in text_
  std::vector<Form> forms_;
  std::unordered_map<std::string, uint16_t> form_numbers_;
};

}  // namespace tessera
