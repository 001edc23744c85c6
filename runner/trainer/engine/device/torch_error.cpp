#include "engine/device/torch_error.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <algorithm>
#include <iostream>
#include <new>
#include <optional>
#include <string_view>

#include "base/diagnostic.h"
#include "base/format_units.h"

namespace exprun {
namespace {

constexpr const char* kLowerMemory =
    "; lower batch.micro_batch or the model's size, or set model.checkpoint_activations = true";

// What follows `words`, up to `end` or the last character; nothing where they are not in the text.
std::optional<std::string> after(std::string_view text, std::string_view words,
                                 std::string_view end) {
  const size_t at = text.find(words);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + words.size());
  return std::string(text.substr(0, text.find(end)));
}

// "20480000000 bytes" in our units; what a GPU's allocator says has some already.
std::string in_our_units(const std::string& amount) {
  const auto bytes = parse_number<int64_t>(amount.substr(0, amount.find(" bytes")));
  return bytes ? binary_bytes(static_cast<double>(*bytes)) : amount;
}

// What could not be had and what helps, of what c10 has no type of error for; nothing for any other
// message.
std::optional<std::string> missing_memory(std::string_view message) {
  if (const auto sizes = after(message, "Storage size calculation overflowed with sizes=", "]"))
    return "a tensor of " + *sizes + "] elements is larger than any memory; use a smaller model";
  const bool of_gpu = message.find("CUDA out of memory") != message.npos;
  if (!of_gpu && message.find("DefaultCPUAllocator") == message.npos) return std::nullopt;
  const auto amount = after(message, "to allocate ", ". ");
  if (!amount) return std::string(of_gpu ? "out of GPU memory" : "out of memory") + kLowerMemory;
  const auto has = after(message, "total capacity of ", ". ");
  return in_our_units(*amount) + " more" + (of_gpu ? " of GPU memory" : "") +
         " could not be allocated" + (has ? " (it has " + *has + ")" : "") + kLowerMemory;
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
  if (const auto missing = missing_memory(message)) return "memory: " + *missing;
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
    return std::string("memory: out of memory") + kLowerMemory;
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
