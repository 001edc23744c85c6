// What earlier runs on this machine measured: ~/.cache/exprun/kernels.json, by CPU, number
// of threads and LibTorch. It saves time only, so one that cannot be read or written is ignored.
#pragma once

#include <map>
#include <string>

namespace exprun {

std::map<std::string, std::string> read_kernel_cache();
void add_to_kernel_cache(const std::map<std::string, std::string>& choices);

}  // namespace exprun
