#include "apps/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "apps/command.h"
#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/secrets.h"
#include "core/suggest.h"
#include "core/version.h"
#include "tensor/cpu_allocator.h"
#include "tensor/device.h"
#include "tensor/error_text.h"
#include "tensor/prepare_cpu.h"

namespace tessera {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

// A word where a command should be and none has that name; else "".
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-")) continue;
    if (at->get_require_subcommand_min() == 0) return "";
    std::vector<std::string> names;
    for (const CLI::App* command : at->get_subcommands({})) names.push_back(command->get_name());
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end())
      return fmt::format("no command '{}'{}; there are: {}", word, did_you_mean(word, names), fmt::join(names, ", "));
    at = at->get_subcommand(word);
  }
  return "";
}

int say_bad_usage(const std::string& what) {
  fmt::print(stderr, "error: {}\nrun 'tessera --help' or 'tessera COMMAND --help'\n", printable_lines(without_secrets(what)));
  return kBadUsage;
}

// How much is said is asked for before the command or behind it.
void add_log_flags(CLI::App& app, bool& verbose, bool& quiet) {
  app.add_flag("-v,--verbose", verbose, "log more");
  app.add_flag("-q,--quiet", quiet, "log warnings and errors only");
  for (CLI::App* command : app.get_subcommands({})) add_log_flags(*command, verbose, quiet);
}

int run(int argc, char** argv) {
  CLI::App app{"Tessera trains, evaluates and applies semantic segmentation models.", "tessera"};
  app.set_version_flag("--version", "tessera " + version() + " (" + build_commit() + ")");
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  bool verbose = false, quiet = false;
  app.parse_complete_callback([&] { set_log_level(verbose ? LogLevel::kDebug : quiet ? LogLevel::kWarn : LogLevel::kInfo); });
  app.footer(
      "Results go to stdout, logs to stderr. Exit codes: 0 done, 1 failed, 2 bad usage, 130/143 stopped by a signal after "
      "saving.\n"
      "First steps: tessera demo");
  int exit_code = 0;
  add_train(app, exit_code);
  add_eval(app, exit_code);
  add_predict(app, exit_code);
  add_compare(app, exit_code);
  add_attention(app, exit_code);
  add_data(app, exit_code);
  add_config(app, exit_code);
  add_recipe(app, exit_code);
  add_report(app, exit_code);
  add_doctor(app, exit_code);
  add_demo(app, exit_code);
  add_models(app, exit_code);
  add_export(app, exit_code);
  add_bench(app, exit_code);
  add_launch(app, exit_code);
  add_tune(app, exit_code);
  add_scale(app, exit_code);
  add_completion(app, exit_code);
  add_log_flags(app, verbose, quiet);
  // Memory and GPUs are for the processes that it starts.
  const bool only_launches = argc > 1 && (std::string_view(argv[1]) == "launch" || std::string_view(argv[1]) == "scale");
  if (!only_launches) {
    prepare_cpu();
    install_cpu_allocator();
    load_cuda_plugin();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // a call for help or the version
    // The parser shows help before it looks at the words around it.
    const std::string unknown = unknown_command(app, argc, argv);
    return unknown.empty() ? app.exit(e) : say_bad_usage(unknown);
  } catch (const CLI::ParseError& e) {
    const std::string unknown = unknown_command(app, argc, argv);
    return say_bad_usage(unknown.empty() ? e.what() : unknown);
  }
  return exit_code;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    const int exit_code = run(argc, argv);
    // A daemon's closed output is no mistake; results that do not reach their file are.
    const bool lost = std::fflush(stdout) != 0 && errno != EBADF;
    if (lost) log_error("cannot write all results to the standard output: {}", std::strerror(errno));
    return lost && exit_code == 0 ? kFailed : exit_code;
  } catch (const UsageError& e) {
    log_error("{}", e.what());
    return kBadUsage;
  } catch (const std::exception& e) {
    log_error("{}", error_text(e));
    return kFailed;
  }
}

}  // namespace tessera
