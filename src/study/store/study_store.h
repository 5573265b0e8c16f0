#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "study/space/space.h"
#include "study/trial.h"

namespace tessera {

// What a study is about, as its store keeps it.
struct StudyInfo {
  std::string name;
  std::vector<Objective> objectives;  // at least one
  nlohmann::json attributes = nlohmann::json::object();
};

// A study on the disk: a SQLite file in Optuna's own schema (Note [Optuna's tables]), which Optuna and its dashboard may have
// open at the same time. Every call is one transaction: whoever is killed leaves the study as it was before it or after it. One
// thread at a time. Throws Error that says what is wrong with the file (locked, damaged, disk full, not writable).
class StudyStore {
 public:
  // The file may hold other studies, and is made where it is missing. A study of this name must not be there yet.
  static StudyStore create(const std::filesystem::path& file, const StudyInfo& info, const Space& space);
  // `name` may be empty where the file holds one study.
  static StudyStore open(const std::filesystem::path& file, const std::string& name = "");
  // Whether a file that is there holds a study: who was killed in create() may have left it empty, or without one. Throws Error
  // for one that is no such file.
  static bool is_begun(const std::filesystem::path& file);
  static std::vector<std::string> names_in(const std::filesystem::path& file);

  StudyStore(StudyStore&&) noexcept;
  ~StudyStore();

  const StudyInfo& info() const;
  const Space& space() const;  // of a study that Optuna made: what its trials say

  // A trial whose number is given by the store: that of its last trial plus one. Returns the number.
  int64_t add(const Trial& trial);
  // Writes what is new in the trial: state, reports, values, attributes. Parameters never change.
  void update(const Trial& trial);
  void set_attributes(const nlohmann::json& attributes);  // of the study

  std::vector<Trial> load() const;   // in order of their numbers
  Trial load(int64_t number) const;  // throws Error where there is none
  // Each trial in the order of their numbers, few of them in memory at a time.
  void each(const std::function<void(Trial)>& visit, size_t at_once = 256) const;

 private:
  class Tables;
  explicit StudyStore(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

}  // namespace tessera
