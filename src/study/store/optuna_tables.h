#pragma once
#include <string>

#include "study/store/database.h"

namespace tessera {

// Note [Optuna's tables]
// The tables of optuna.storages.RDBStorage (PyPI's optuna from 3.2 on, 5.0 among them; alembic's head is v3.2.0.a), by which
// Optuna and its dashboard read a study of ours, and we one of theirs. What they have no column for is kept as attributes,
// which Optuna shows: of a trial `reason`, `folder` and whatever else the trial's attributes hold. Keys with a colon are ours
// alone: `tessera:space` of a study, `tessera:state` of a paused trial, which is a running one to Optuna. A number of a
// parameter is what we have too (Assignment), and its distribution stands beside it in each trial.

// Makes the tables where there are none. Throws Error where the file's are of another version.
void make_optuna_tables(Database& database, const std::string& file);
// Throws Error where the tables are not those expected.
void check_optuna_tables(const Database& database, const std::string& file);

// "2026-11-19 06:57:06.000646": now, in local time as Optuna has it.
std::string optuna_time();

}  // namespace tessera
