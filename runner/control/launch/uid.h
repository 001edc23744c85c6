// The identity of a run, on every machine and for ever.
#pragma once

#include <string>

namespace exprun {

std::string make_uid();  // 32 hex digits from the kernel's generator

// "quickstart-1a2b3c4d": the run's folder below the store's.
std::string run_folder_name(const std::string& name, const std::string& uid);

}  // namespace exprun
