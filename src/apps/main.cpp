#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "apps/command.h"
#include "core/error.h"
#include "core/log.h"
#include "core/version.h"
#include "tensor/cpu_allocator.h"
#include "tensor/device.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

int run(int argc, char** argv) {
  using namespace tessera;
  CLI::App app{"Tessera trains, evaluates and applies semantic segmentation models.", "tessera"};
  app.set_version_flag("--version", "tessera " + version() + " (" + build_commit() + ")");
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  bool verbose = false, quiet = false;
  app.add_flag("-v,--verbose", verbose, "log more");
  app.add_flag("-q,--quiet", quiet, "log warnings and errors only");
  app.parse_complete_callback([&] { set_log_level(verbose ? LogLevel::kDebug : quiet ? LogLevel::kWarn : LogLevel::kInfo); });
  app.footer(
      "Results go to stdout, logs to stderr. Exit codes: 0 done, 1 failed, 2 bad usage, 130/143 stopped by a signal after "
      "saving.\n"
      "First steps: tessera demo");
  int exit_code = 0;
  add_train(app, exit_code);
  add_eval(app, exit_code);
  add_predict(app, exit_code);
  add_attention(app, exit_code);
  add_data(app, exit_code);
  add_config(app, exit_code);
  add_report(app, exit_code);
  add_doctor(app, exit_code);
  add_demo(app, exit_code);
  add_models(app, exit_code);
  add_export(app, exit_code);
  add_bench(app, exit_code);
  add_launch(app, exit_code);
  add_completion(app, exit_code);
  const bool only_launches = argc > 1 && std::string_view(argv[1]) == "launch";  // memory and GPUs are for its ranks
  if (!only_launches) {
    install_cpu_allocator();
    load_cuda_plugin();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "error: {}\nrun 'tessera --help' or 'tessera COMMAND --help'\n", e.what());
    return kBadUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tessera::UsageError& e) {
    tessera::log_error("{}", e.what());
    return kBadUsage;
  } catch (const c10::Error& e) {
    tessera::log_error("{}", e.what_without_backtrace());
    return kFailed;
  } catch (const std::exception& e) {
    tessera::log_error("{}", e.what());
    return kFailed;
  }
}
