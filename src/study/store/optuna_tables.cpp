#include "study/store/optuna_tables.h"

#include <array>
#include <cmath>
#include <ctime>

#include "core/clock.h"
#include "core/error.h"
#include "core/printable.h"

namespace tessera {
namespace {

constexpr const char* kRevision = "v3.2.0.a";

constexpr const char* kTables = R"(
CREATE TABLE studies (
  study_id INTEGER NOT NULL, study_name VARCHAR(512) NOT NULL, PRIMARY KEY (study_id));
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE TABLE version_info (
  version_info_id INTEGER NOT NULL, schema_version INTEGER, library_version VARCHAR(256), PRIMARY KEY (version_info_id),
  CHECK (version_info_id=1));
CREATE TABLE study_directions (
  study_direction_id INTEGER NOT NULL, direction VARCHAR(8) NOT NULL, study_id INTEGER NOT NULL, objective INTEGER NOT NULL,
  PRIMARY KEY (study_direction_id), UNIQUE (study_id, objective), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_user_attributes (
  study_user_attribute_id INTEGER NOT NULL, study_id INTEGER, "key" VARCHAR(512), value_json TEXT,
  PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, "key"), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_system_attributes (
  study_system_attribute_id INTEGER NOT NULL, study_id INTEGER, "key" VARCHAR(512), value_json TEXT,
  PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, "key"), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE trials (
  trial_id INTEGER NOT NULL, number INTEGER, study_id INTEGER, state VARCHAR(8) NOT NULL, datetime_start DATETIME,
  datetime_complete DATETIME, PRIMARY KEY (trial_id), FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE INDEX ix_trials_study_id ON trials (study_id);
CREATE TABLE trial_user_attributes (
  trial_user_attribute_id INTEGER NOT NULL, trial_id INTEGER, "key" VARCHAR(512), value_json TEXT,
  PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, "key"), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_system_attributes (
  trial_system_attribute_id INTEGER NOT NULL, trial_id INTEGER, "key" VARCHAR(512), value_json TEXT,
  PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, "key"), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_params (
  param_id INTEGER NOT NULL, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT,
  PRIMARY KEY (param_id), UNIQUE (trial_id, param_name), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_values (
  trial_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, objective INTEGER NOT NULL, value FLOAT,
  value_type VARCHAR(7) NOT NULL, PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_intermediate_values (
  trial_intermediate_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, step INTEGER NOT NULL, intermediate_value FLOAT,
  intermediate_value_type VARCHAR(7) NOT NULL, PRIMARY KEY (trial_intermediate_value_id), UNIQUE (trial_id, step),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_heartbeats (
  trial_heartbeat_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, heartbeat DATETIME NOT NULL, PRIMARY KEY (trial_heartbeat_id),
  UNIQUE (trial_id), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE alembic_version (
  version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO alembic_version VALUES ('v3.2.0.a');
INSERT INTO version_info VALUES (1, 12, '4.0.0');
)";

bool has_table(const Database& database, const std::string& name) {
  Statement found(database, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  return found.bind(name).next();
}

}  // namespace

void make_optuna_tables(Database& database, const std::string& file) {
  {
    Transaction transaction(database);
    if (!has_table(database, "studies")) database.execute(kTables);
    transaction.commit();
  }
  check_optuna_tables(database, file);
}

void check_optuna_tables(const Database& database, const std::string& file) {
  TSR_CHECK(has_table(database, "studies") && has_table(database, "alembic_version"),
            "{} holds no study; expected a file that `tessera tune` or Optuna made", printable(file));
  Statement version(database, "SELECT version_num FROM alembic_version");
  const std::string found = version.next() ? version.text(0) : "none";
  TSR_CHECK(found == kRevision,
            "{} is of another version of Optuna: its tables are {}, expected {}; `optuna storage upgrade --storage "
            "sqlite:///{}` brings an older one to it",
            printable(file), printable(found), kRevision, printable(file));
}

std::string optuna_time() {
  const double now = unix_s();
  const auto seconds = static_cast<time_t>(now);
  struct tm local {};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("{}.{:06}", std::string(text.data(), size), static_cast<int>((now - std::floor(now)) * 1e6));
}

}  // namespace tessera
