// Data of other projects that tests compare with, below EXPRUN_FIXTURES (by default ../shared of
// the repository). A test that needs a file asks for it first:
//   const auto curve = fixture("parity/nanogpt_char/curve.json");
//   if (!curve) return;
// Without the folder that prints "SKIPPED: <file>", which tools/test counts; where EXPRUN_FIXTURES
// was set explicitly, a missing file is a failure.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace exprun {

// A file or folder of the fixtures, or nothing if the test is to be skipped.
std::optional<std::filesystem::path> fixture(const std::string& relative);

// The same, parsed.
std::optional<nlohmann::json> json_fixture(const std::string& relative);

}  // namespace exprun
