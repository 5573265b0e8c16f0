#include "study/store/study_store.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/json_text.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "study/space/space_json.h"
#include "study/store/database.h"
#include "study/store/optuna_tables.h"
#include "study/store/stored_trials.h"

namespace tessera {
namespace {

constexpr const char* kSpaceKey = "tessera:space";
constexpr const char* kMetricsKey = "study:metric_names";  // Optuna's own

std::vector<std::string> study_names(const Database& database) {
  std::vector<std::string> names;
  Statement rows(database, "SELECT study_name FROM studies ORDER BY study_id");
  while (rows.next()) names.push_back(rows.text(0));
  return names;
}

int64_t id_of_study(const Database& database, const std::string& name) {
  Statement found(database, "SELECT study_id FROM studies WHERE study_name = ?");
  return found.bind(name).next() ? found.integer(0) : -1;
}

nlohmann::json attributes_of_study(const Database& database, const char* table, int64_t study) {
  nlohmann::json all = nlohmann::json::object();
  Statement rows(database, fmt::format("SELECT \"key\", value_json FROM {} WHERE study_id = ?", table));
  rows.bind(study);
  while (rows.next()) all[rows.text(0)] = nlohmann::json::parse(rows.text(1), nullptr, /*allow_exceptions=*/false);
  return all;
}

void put_study_attribute(const Database& database, const char* table, int64_t study, const std::string& key,
                         const nlohmann::json& value) {
  Statement put(database, fmt::format("INSERT INTO {} (study_id, \"key\", value_json) VALUES (?, ?, ?) ON CONFLICT (study_id, "
                                      "\"key\") DO UPDATE SET value_json = excluded.value_json",
                                      table));
  put.bind(study).bind(key).bind(json_text(value)).run();
}

std::vector<Objective> objectives_of(const Database& database, int64_t study) {
  const nlohmann::json names =
      attributes_of_study(database, "study_system_attributes", study).value(kMetricsKey, nlohmann::json::array());
  std::vector<Objective> objectives;
  Statement rows(database, "SELECT direction FROM study_directions WHERE study_id = ? ORDER BY objective");
  rows.bind(study);
  while (rows.next()) {
    const size_t i = objectives.size();
    const std::string name =
        i < names.size() && names[i].is_string() ? names[i].get<std::string>() : fmt::format("value {}", i);
    objectives.push_back({name, rows.text(0) == "MAXIMIZE" ? Direction::kMaximize : Direction::kMinimize});
  }
  return objectives;
}

}  // namespace

class StudyStore::Tables {
 public:
  Tables(Database database, int64_t study) : database_(std::move(database)), study_(study) {
    info_.attributes = attributes_of_study(database_, "study_user_attributes", study_);
    info_.objectives = objectives_of(database_, study_);
    Statement name(database_, "SELECT study_name FROM studies WHERE study_id = ?");
    if (name.bind(study_).next()) info_.name = name.text(0);
    space_ = info_.attributes.contains(kSpaceKey) ? space_from_json(info_.attributes[kSpaceKey])
                                                  : space_of_trials(database_, study_);
    info_.attributes.erase(kSpaceKey);
  }

  const StudyInfo& info() const { return info_; }
  const Space& space() const { return space_; }

  int64_t add(Trial trial) {
    Transaction transaction(database_);
    trial.number = next_trial_number(database_, study_);
    const int64_t id = insert_trial(database_, study_, space_, trial);
    transaction.commit();
    const int64_t number = trial.number;
    keep({id, std::move(trial)});
    return number;
  }

  void update(const Trial& trial) {
    const StoredTrial& stored = open_trial(trial.number);
    const int64_t id = stored.id;
    Transaction transaction(database_);
    update_trial(database_, id, stored.trial, trial);
    transaction.commit();
    keep({id, trial});
  }

  void set_attributes(const nlohmann::json& attributes) {
    Transaction transaction(database_);
    for (const auto& [key, value] : attributes.items()) {
      const auto old = info_.attributes.find(key);
      if (old == info_.attributes.end() || *old != value)
        put_study_attribute(database_, "study_user_attributes", study_, key, value);
    }
    for (const auto& [key, value] : info_.attributes.items()) {
      if (!attributes.contains(key))
        Statement(database_, "DELETE FROM study_user_attributes WHERE study_id = ? AND \"key\" = ?")
            .bind(study_)
            .bind(key)
            .run();
    }
    transaction.commit();
    info_.attributes = attributes;
  }

  std::vector<Trial> load() const {
    std::vector<Trial> trials;
    for (StoredTrial& stored : load_trials(database_, study_)) trials.push_back(std::move(stored.trial));
    return trials;
  }

  const Trial& load(int64_t number) { return open_trial(number).trial; }

  void each(const std::function<void(Trial)>& visit, size_t at_once) {
    const std::vector<int64_t> ids = ids_of_trials(database_, study_);
    for (size_t begin = 0; begin < ids.size(); begin += at_once) {
      const size_t end = std::min(begin + at_once, ids.size());
      for (StoredTrial& stored : load_trials(database_, study_, {ids[begin], ids[end - 1]})) {
        if (stored.trial.state == TrialState::kPaused) paused_[stored.trial.number] = stored.id;
        visit(std::move(stored.trial));
      }
    }
  }

 private:
  // Trials that run. Of paused ones, of which there may be thousands, the id is kept; of those that have ended nothing.
  void keep(StoredTrial stored) {
    const int64_t number = stored.trial.number;
    const TrialState state = stored.trial.state;
    if (state == TrialState::kPaused) {
      paused_[number] = stored.id;
    } else {
      paused_.erase(number);
    }
    if (state == TrialState::kPaused || is_finished(state)) {
      open_.erase(number);
    } else {
      open_.insert_or_assign(number, std::move(stored));
    }
  }

  const StoredTrial& open_trial(int64_t number) {
    const auto found = open_.find(number);
    if (found != open_.end()) return found->second;
    const auto known = paused_.find(number);
    const std::optional<int64_t> id =
        known != paused_.end() ? std::optional(known->second) : id_of_trial(database_, study_, number);
    TSR_CHECK(id.has_value(), "the study {} has no trial {}", info_.name, number);
    std::vector<StoredTrial> stored = load_trials(database_, study_, {*id, *id});
    TSR_CHECK(!stored.empty(), "somebody else has removed trial {} from the study {}", number, info_.name);
    return open_[number] = std::move(stored.front());
  }

  Database database_;
  int64_t study_;
  StudyInfo info_;
  Space space_;
  std::map<int64_t, StoredTrial> open_;  // as the tables have them
  std::map<int64_t, int64_t> paused_;    // their ids: looking for a number among thousands takes long
};

StudyStore::StudyStore(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
StudyStore::StudyStore(StudyStore&&) noexcept = default;
StudyStore::~StudyStore() = default;

StudyStore StudyStore::create(const std::filesystem::path& file, const StudyInfo& info, const Space& space) {
  Database database(file, Database::Mode::kMake);
  make_optuna_tables(database, file.string());
  Transaction transaction(database);
  if (id_of_study(database, info.name) >= 0)
    fail_usage("{} holds a study '{}' already; give the new one another name", printable(file.string()), printable(info.name));
  Statement(database, "INSERT INTO studies (study_name) VALUES (?)").bind(info.name).run();
  const int64_t study = database.last_id();
  nlohmann::json metrics = nlohmann::json::array();
  for (const Objective& objective : info.objectives) {
    Statement put(database, "INSERT INTO study_directions (direction, study_id, objective) VALUES (?, ?, ?)");
    put.bind(std::string(objective.direction == Direction::kMaximize ? "MAXIMIZE" : "MINIMIZE"))
        .bind(study)
        .bind(static_cast<int64_t>(metrics.size()))
        .run();
    metrics.push_back(objective.metric);
  }
  put_study_attribute(database, "study_system_attributes", study, kMetricsKey, metrics);
  put_study_attribute(database, "study_user_attributes", study, kSpaceKey, space_json(space));
  for (const auto& [key, value] : info.attributes.items())
    put_study_attribute(database, "study_user_attributes", study, key, value);
  transaction.commit();
  return StudyStore(std::make_unique<Tables>(std::move(database), study));
}

StudyStore StudyStore::open(const std::filesystem::path& file, const std::string& name) {
  Database database(file, Database::Mode::kExisting);
  check_optuna_tables(database, file.string());
  const std::vector<std::string> names = study_names(database);
  const std::string shown = printable(file.string());
  TSR_CHECK(!names.empty(), "{} holds no study yet", shown);
  if (name.empty() && names.size() > 1)
    fail_usage("{} holds {} studies: {}; say which one", shown, names.size(), fmt::join(names, ", "));
  const int64_t study = id_of_study(database, name.empty() ? names.front() : name);
  if (study < 0)
    fail_usage("{} holds no study '{}'{}; there are: {}", shown, printable(name), did_you_mean(name, names),
               fmt::join(names, ", "));
  return StudyStore(std::make_unique<Tables>(std::move(database), study));
}

bool StudyStore::is_begun(const std::filesystem::path& file) {
  const Database database(file, Database::Mode::kExisting);
  if (!Statement(database, "SELECT 1 FROM sqlite_master").next()) return false;
  check_optuna_tables(database, file.string());
  return !study_names(database).empty();
}

std::vector<std::string> StudyStore::names_in(const std::filesystem::path& file) {
  const Database database(file, Database::Mode::kExisting);
  check_optuna_tables(database, file.string());
  return study_names(database);
}

const StudyInfo& StudyStore::info() const {
  return tables_->info();
}
const Space& StudyStore::space() const {
  return tables_->space();
}
int64_t StudyStore::add(const Trial& trial) {
  return tables_->add(trial);
}
void StudyStore::update(const Trial& trial) {
  tables_->update(trial);
}
void StudyStore::set_attributes(const nlohmann::json& attributes) {
  tables_->set_attributes(attributes);
}
std::vector<Trial> StudyStore::load() const {
  return tables_->load();
}
Trial StudyStore::load(int64_t number) const {
  return tables_->load(number);
}
void StudyStore::each(const std::function<void(Trial)>& visit, size_t at_once) const {
  tables_->each(visit, at_once);
}

}  // namespace tessera
