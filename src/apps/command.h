#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace tessera {

// Each subcommand lives in a file of its own: it adds itself to the parser and sets `exit_code` when it has run.
void add_train(CLI::App& app, int& exit_code);
void add_eval(CLI::App& app, int& exit_code);
void add_predict(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_attention(CLI::App& app, int& exit_code);
void add_data(CLI::App& app, int& exit_code);
void add_data_fetch(CLI::App& data);  // a subcommand of `data`
void add_config(CLI::App& app, int& exit_code);
void add_recipe(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_bench_eval(CLI::App& bench);  // subcommands of `bench`
void add_bench_load(CLI::App& bench);
void add_bench_data(CLI::App& bench);
void add_bench_suite(CLI::App& bench, int& exit_code);
void add_tune(CLI::App& app, int& exit_code);
void add_tune_lr(CLI::App& tune, int& exit_code);  // subcommands of `tune`
void add_tune_results(CLI::App& tune);
void add_models(CLI::App& app, int& exit_code);
void add_pretrained(CLI::App& models);  // subcommands of `models`
void add_export(CLI::App& app, int& exit_code);
void add_launch(CLI::App& app, int& exit_code);
void add_scale(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);

// Whether a word is key=value, and not the name of a file or a URL with a query.
bool is_setting(const std::string& word);

// `CONFIG key=value ...` as several subcommands take them: the first word without '=' is the config, a file or
// the name of a built-in one; a folder, an archive or a URL is data.path.
struct ConfigArguments {
  std::string config;              // also settable by -c
  std::vector<std::string> words;  // positional
  void add_to(CLI::App& command);
  std::filesystem::path file() const;          // may be empty
  std::vector<std::string> overrides() const;  // a word that is data is data.path
  Experiment load() const;                     // throws UsageError
};

// Checks of numbers on the command line; CLI11's own name the largest double where they complain.
CLI::Validator above_zero();
CLI::Validator zero_or_more();

// The table of all config keys, for --help.
std::string config_help();

}  // namespace tessera
