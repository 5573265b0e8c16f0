#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/file_lock.h"
#include "study/controller/study_plan.h"
#include "study/store/study_store.h"

namespace tessera {

// A study's folder: study.sqlite, study.yaml, config.yaml, trials/, jobs/.

// Only one process at a time runs a study. Throws Error that says who does.
std::unique_ptr<FileLock> claim_study(const std::filesystem::path& folder);

// Throws UsageError where there is no such model, before anything is started.
void check_model(const Experiment& experiment);

// `tessera tune` and `tessera scale` call their studies alike where nobody names them. Throws UsageError where the folder has
// the file of the other command.
void refuse_other_study(const std::filesystem::path& folder, const char* file, const char* command);

// The study of the plan: begun now, or gone on with. Throws UsageError where another one, or one of other settings, lies there.
StudyStore open_study(const StudyPlan& plan);

// What the studies that this one learns from had found when it began. Notes what of it is not used.
std::vector<Trial> earlier_trials_of(const StudyPlan& plan);

// The folder of a study that somebody names: the folder, its database or its file. Throws UsageError.
std::filesystem::path find_study(const std::string& given);

// The file of a request that names a study's folder; else what was given.
std::filesystem::path study_file_of(const std::filesystem::path& given);

// The shell commands that train a trial once more, one or, where it took the weights of others, one for each stretch.
std::vector<std::string> training_commands(const StudyStore& store, const std::filesystem::path& folder, int64_t number,
                                           const std::string& run);

// Writes FOLDER/study.html from what the store has.
void write_study_page(const StudyStore& store, const std::filesystem::path& folder, bool running);

// The best complete trial by the first objective; nothing where there is none.
std::optional<Trial> best_trial(const StudyStore& store);

}  // namespace tessera
