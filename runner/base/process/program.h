// The program of this process.
#pragma once

#include <filesystem>

namespace exprun {

// Its file; empty where /proc is not mounted.
std::filesystem::path own_program();

// "0.1.0"; both programs of one build have the same.
const char* version();

}  // namespace exprun
