#include "base/error_file.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/json_text.h"

namespace exprun {

void write_error_file(const std::string& message) {
  namespace fs = std::filesystem;
  const char* const name = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (!name || !*name) return;
  try {
    if (fs::exists(name)) return;
    fs::create_directories(fs::path(name).parent_path());
    const nlohmann::json json{
        {"message",
         {{"message", "exprun: " + message},
          {"extraInfo",
           {{"py_callstack", message}, {"timestamp", std::to_string(now_ms() / 1000)}}}}}};
    write_file_atomically(name, json_text(json, -1, NotUtf8::replaced));
  } catch (const std::exception&) {
    // The message is on standard error too.
  }
}

}  // namespace exprun
