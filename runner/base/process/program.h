// The program of this process.
#pragma once

#include <filesystem>
#include <string>

namespace exprun {

// Its file; empty where /proc is not mounted.
std::filesystem::path own_program();

// What no other build has: the build ID that its linker gave it. Empty if it gave none.
std::string own_build();

// "0.1.0"; both programs of one build have the same.
const char* version();

}  // namespace exprun
