#include "control/launch/explain.h"

#include <cstdio>
#include <filesystem>
#include <new>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"

namespace exprun {

int explain(const std::exception& error) {
  const auto* const world = dynamic_cast<const Error*>(&error);
  if (dynamic_cast<const RecipeError*>(&error)) {
    std::fputs(error.what(), stderr);
    return static_cast<int>(ExitCode::bad_recipe);
  }
  if (world)
    log(LogLevel::error, world->what());
  else if (dynamic_cast<const std::bad_alloc*>(&error))
    log(LogLevel::error, "out of memory");
  else if (dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    log(LogLevel::error, error.what());
  else
    log(LogLevel::error, std::string("this is a bug of exprun, please report it: ") + error.what());
  return static_cast<int>(world ? world->code() : ExitCode::failed);
}

}  // namespace exprun
