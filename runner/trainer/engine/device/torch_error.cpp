#include "engine/device/torch_error.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <algorithm>
#include <iostream>
#include <new>
#include <string_view>

#include "base/diagnostic.h"

namespace exprun {
namespace {

// c10 has no type of error for it.
bool ran_out_of_memory(std::string_view message) {
  for (const char* words : {"DefaultCPUAllocator", "not enough memory", "CUDA out of memory",
                            "Storage size calculation overflowed"})
    if (message.find(words) != message.npos) return true;
  return false;
}

// With what else follows after the first line, but for the stack.
std::string in_one_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string bug(const std::string& message) {
  return "this is a bug of exprun, please report it: " + message;
}

}  // namespace

std::string explain_torch_error(const c10::Error& error) {
  const std::string message = in_one_line(error.what_without_backtrace());
  if (ran_out_of_memory(message))
    return "memory: " + message + "; lower batch.micro_batch or the model's size";
  if (message.find("CUDA error") != message.npos)
    return "gpu: " + message +
           "; check nvidia-smi and the kernel log (dmesg, Xid) for details; the run can be "
           "resumed";
  return bug(message);
}

std::string explain_failure(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) || dynamic_cast<const RecipeError*>(&error))
    return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return "memory: out of memory; lower batch.micro_batch or the model's size";
  if (const auto* torch = dynamic_cast<const c10::Error*>(&error))
    return explain_torch_error(*torch);
  return bug(error.what());
}

// No environment variable is read unless a program asks for that; some functions throw what they
// have logged as an error.
void set_library_log(LogLevel level) {
  if (level != LogLevel::debug) std::cerr.rdbuf(nullptr);  // Gloo's; our own log does not use it
  FLAGS_caffe2_log_level = level == LogLevel::debug ? c10::GLOG_WARNING : c10::GLOG_FATAL;
}

}  // namespace exprun
