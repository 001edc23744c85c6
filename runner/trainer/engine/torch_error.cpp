#include "engine/torch_error.h"

#include <c10/util/Exception.h>

#include <string_view>

namespace exprun {

namespace {

// c10 has no type of error for it.
bool ran_out_of_memory(std::string_view message) {
  for (const char* words : {"DefaultCPUAllocator", "not enough memory"})
    if (message.find(words) != message.npos) return true;
  return false;
}

}  // namespace

std::string explain_torch_error(const c10::Error& error) {
  const std::string message = error.what_without_backtrace();
  if (ran_out_of_memory(message))
    return "memory: " + message + "; lower batch.micro_batch or the model's size";
  return "this is a bug of exprun, please report it: " + message;
}

}  // namespace exprun
