#include "study/store/stored_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/json_text.h"
#include "study/store/distribution.h"
#include "study/store/optuna_tables.h"

namespace tessera {
namespace {

constexpr const char* kStateKey = "tessera:state";
constexpr const char* kReasonKey = "reason";

const char* optuna_state(TrialState state) {
  switch (state) {
    case TrialState::kWaiting: return "WAITING";
    case TrialState::kRunning:
    case TrialState::kPaused: return "RUNNING";
    case TrialState::kComplete: return "COMPLETE";
    case TrialState::kStopped: return "PRUNED";
    case TrialState::kFailed: break;
  }
  return "FAIL";
}

TrialState state_of(const std::string& text) {
  if (text == "WAITING") return TrialState::kWaiting;
  if (text == "RUNNING") return TrialState::kRunning;
  if (text == "COMPLETE") return TrialState::kComplete;
  if (text == "PRUNED") return TrialState::kStopped;
  TSR_CHECK(text == "FAIL", "the study has a trial whose state is '{}'; expected one of Optuna's", text);
  return TrialState::kFailed;
}

// Numbers that SQLite has none for are named in a column of their own.
void bind_number(Statement& statement, double value) {
  if (std::isfinite(value)) {
    statement.bind(value).bind(std::string("FINITE"));
  } else {
    statement.bind_null().bind(std::string(std::isnan(value) ? "NAN" : value > 0 ? "INF_POS" : "INF_NEG"));
  }
}

double number_of(const Statement& row, int column) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string kind = row.text(column + 1);
  if (kind == "FINITE") return row.real(column);
  return kind == "INF_POS" ? kInfinity : kind == "INF_NEG" ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
}

bool same(const Report& a, const Report& b) {
  return a.step == b.step && (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)));
}

void put_attribute(const Database& database, const char* table, int64_t id, const std::string& key,
                   const nlohmann::json& value) {
  Statement put(database, fmt::format("INSERT INTO {} (trial_id, \"key\", value_json) VALUES (?, ?, ?) ON CONFLICT "
                                      "(trial_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
                                      table));
  put.bind(id).bind(key).bind(json_text(value)).run();
}

void remove_attribute(const Database& database, const char* table, int64_t id, const std::string& key) {
  Statement(database, fmt::format("DELETE FROM {} WHERE trial_id = ? AND \"key\" = ?", table)).bind(id).bind(key).run();
}

void write_state(const Database& database, int64_t id, const Trial& before, const Trial& now) {
  if (before.state == now.state) return;
  const bool begins = before.state == TrialState::kWaiting;
  Statement put(database,
                "UPDATE trials SET state = ?, datetime_start = CASE WHEN ? THEN coalesce(datetime_start, ?) ELSE "
                "datetime_start END, datetime_complete = ? WHERE trial_id = ?");
  put.bind(std::string(optuna_state(now.state))).bind(int64_t{begins}).bind(optuna_time());
  is_finished(now.state) ? put.bind(optuna_time()) : put.bind_null();
  put.bind(id).run();
  if (now.state == TrialState::kPaused) {
    put_attribute(database, "trial_system_attributes", id, kStateKey, "paused");
  } else if (before.state == TrialState::kPaused) {
    remove_attribute(database, "trial_system_attributes", id, kStateKey);
  }
}

void write_reports(const Database& database, int64_t id, const Trial& before, const Trial& now) {
  const auto [old, fresh] =
      std::mismatch(before.reports.begin(), before.reports.end(), now.reports.begin(), now.reports.end(), same);
  if (old != before.reports.end())
    Statement(database, "DELETE FROM trial_intermediate_values WHERE trial_id = ? AND step >= ?")
        .bind(id)
        .bind(old->step)
        .run();
  Statement put(database,
                "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, "
                "intermediate_value_type) VALUES (?, ?, ?, ?) ON CONFLICT (trial_id, step) DO UPDATE SET "
                "intermediate_value = excluded.intermediate_value, intermediate_value_type = "
                "excluded.intermediate_value_type");
  for (auto report = fresh; report != now.reports.end(); ++report) {
    put.bind(id).bind(report->step);
    bind_number(put, report->value);
    put.run();
  }
}

void write_values(const Database& database, int64_t id, const Trial& before, const Trial& now) {
  if (before.values == now.values) return;
  Statement(database, "DELETE FROM trial_values WHERE trial_id = ?").bind(id).run();
  Statement put(database, "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, ?, ?, ?)");
  for (size_t i = 0; i < now.values.size(); ++i) {
    put.bind(id).bind(static_cast<int64_t>(i));
    bind_number(put, now.values[i]);
    put.run();
  }
}

void write_attributes(const Database& database, int64_t id, const Trial& before, const Trial& now) {
  for (const auto& [key, value] : now.attributes.items()) {
    const auto old = before.attributes.find(key);
    if (old == before.attributes.end() || *old != value) put_attribute(database, "trial_user_attributes", id, key, value);
  }
  for (const auto& [key, value] : before.attributes.items()) {
    if (!now.attributes.contains(key)) remove_attribute(database, "trial_user_attributes", id, key);
  }
  if (before.reason == now.reason) return;
  if (now.reason.empty()) {
    remove_attribute(database, "trial_user_attributes", id, kReasonKey);
  } else {
    put_attribute(database, "trial_user_attributes", id, kReasonKey, now.reason);
  }
}

// The rows of a table that belongs to trials, for those asked for.
Statement rows_of(const Database& database, int64_t study, const IdRange& range, const char* columns, const char* table,
                  const char* order) {
  Statement rows(database, fmt::format("SELECT t.number, {} FROM trials t JOIN {} x ON x.trial_id = t.trial_id WHERE "
                                       "t.study_id = ? AND t.trial_id BETWEEN ? AND ? ORDER BY t.trial_id, {}",
                                       columns, table, order));
  rows.bind(study).bind(range.first).bind(range.last);
  return rows;
}

}  // namespace

int64_t next_trial_number(const Database& database, int64_t study) {
  Statement last(database, "SELECT number FROM trials WHERE study_id = ? ORDER BY trial_id DESC LIMIT 1");
  return last.bind(study).next() ? last.integer(0) + 1 : 0;
}

int64_t insert_trial(const Database& database, int64_t study, const Space& space, const Trial& trial) {
  Statement(database, "INSERT INTO trials (number, study_id, state) VALUES (?, ?, 'WAITING')")
      .bind(trial.number)
      .bind(study)
      .run();
  const int64_t id = database.last_id();
  Statement put(database,
                "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)");
  for (const auto& [name, value] : trial.parameters)
    put.bind(id).bind(name).bind(value).bind(distribution_json(space.at(name))).run();
  update_trial(database, id, {}, trial);
  return id;
}

void update_trial(const Database& database, int64_t id, const Trial& before, const Trial& now) {
  write_reports(database, id, before, now);
  write_values(database, id, before, now);
  write_attributes(database, id, before, now);
  write_state(database, id, before, now);
}

std::vector<int64_t> ids_of_trials(const Database& database, int64_t study) {
  std::vector<int64_t> ids;
  Statement rows(database, "SELECT trial_id FROM trials WHERE study_id = ? ORDER BY number");
  rows.bind(study);
  while (rows.next()) ids.push_back(rows.integer(0));
  return ids;
}

std::optional<int64_t> id_of_trial(const Database& database, int64_t study, int64_t number) {
  Statement row(database, "SELECT trial_id FROM trials WHERE study_id = ? AND number = ?");
  return row.bind(study).bind(number).next() ? std::optional(row.integer(0)) : std::nullopt;
}

std::vector<StoredTrial> load_trials(const Database& database, int64_t study, const IdRange& range) {
  std::vector<StoredTrial> trials;
  std::map<int64_t, size_t> places;
  Statement rows(database,
                 "SELECT number, trial_id, state FROM trials WHERE study_id = ? AND trial_id BETWEEN ? AND ? ORDER BY number");
  rows.bind(study).bind(range.first).bind(range.last);
  while (rows.next()) {
    places[rows.integer(0)] = trials.size();
    trials.push_back({rows.integer(1), {.number = rows.integer(0), .state = state_of(rows.text(2))}});
  }
  const auto each = [&](const char* columns, const char* table, const char* order, const auto& take) {
    Statement all = rows_of(database, study, range, columns, table, order);
    while (all.next()) {
      // Another process may have added a trial since its row was looked for.
      if (const auto place = places.find(all.integer(0)); place != places.end()) take(trials[place->second].trial, all);
    }
  };
  each("x.param_name, x.param_value", "trial_params", "x.param_id",
       [](Trial& trial, const Statement& row) { trial.parameters[row.text(1)] = row.real(2); });
  each("x.step, x.intermediate_value, x.intermediate_value_type", "trial_intermediate_values", "x.step",
       [](Trial& trial, const Statement& row) {
         trial.reports.push_back({row.integer(1), number_of(row, 2)});
       });
  each("x.value, x.value_type", "trial_values", "x.objective",
       [](Trial& trial, const Statement& row) { trial.values.push_back(number_of(row, 1)); });
  each("x.\"key\", x.value_json", "trial_user_attributes", "x.trial_user_attribute_id", [](Trial& trial, const Statement& row) {
    const auto value = nlohmann::json::parse(row.text(2), nullptr, /*allow_exceptions=*/false);
    if (row.text(1) == kReasonKey && value.is_string()) {
      trial.reason = value;
    } else {
      trial.attributes[row.text(1)] = value;
    }
  });
  each("x.\"key\"", "trial_system_attributes", "x.trial_system_attribute_id", [](Trial& trial, const Statement& row) {
    if (row.text(1) == kStateKey && trial.state == TrialState::kRunning) trial.state = TrialState::kPaused;
  });
  return trials;
}

Space space_of_trials(const Database& database, int64_t study) {
  std::map<std::string, std::string> latest;
  Statement rows = rows_of(database, study, {}, "x.param_name, x.distribution_json", "trial_params", "x.param_id");
  while (rows.next()) latest[rows.text(1)] = rows.text(2);
  std::vector<Parameter> parameters;
  for (const auto& [name, distribution] : latest) parameters.push_back(parameter_of(name, distribution));
  return Space(std::move(parameters));
}

}  // namespace tessera
