#include "dist/abort_or_exit.h"

#include <cstdlib>
#include <exception>
#include <utility>

#include "base/diagnostic.h"
#include "base/log.h"
#include "dist/within.h"

namespace exprun {

namespace {

constexpr std::chrono::seconds kAbortTakes{5};

}  // namespace

void abort_or_exit(const std::string& trouble, std::function<void()> abort) {
  try {
    const auto returned = within(kAbortTakes, [abort = std::move(abort)] {
      abort();
      return true;
    });
    if (returned) return;
  } catch (const std::exception& error) {
    log(LogLevel::debug, std::string("dist: ") + error.what());
    return;
  }
  log(LogLevel::error, "dist: " + trouble + "; what waits for the others cannot be made to end " +
                           "within " + std::to_string(kAbortTakes.count()) +
                           " s: this rank ends at once");
  std::_Exit(static_cast<int>(ExitCode::lost_ranks));
}

}  // namespace exprun
