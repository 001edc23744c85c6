#include "engine/device/kernel_file.h"

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "engine/device/kernel_choices.h"

namespace exprun {

KernelFile::KernelFile(std::filesystem::path file) : file_(std::move(file)) {
  if (!std::filesystem::exists(file_)) return;
  auto choices = parse_json_or_discard<nlohmann::json>(read_file(file_));
  if (!choices.is_object())
    throw Error("kernels: '" + file_.string() +
                "' is damaged; remove it, the newest checkpoint has its content too");
  kernel_choices::load(choices);
  kept_ = std::move(choices);
}

void KernelFile::keep() {
  auto choices = kernel_choices::save();
  if (choices == kept_) return;
  write(choices);
  kept_ = std::move(choices);
}

void KernelFile::write(const nlohmann::json& choices) {
  try {
    write_file_atomically(file_, json_text(choices, 1) + "\n");
  } catch (const Error& error) {
    if (kept_.is_null()) throw;
    log_warning(std::string(error.what()) + "; a resume may choose other kernels");
  }
}

}  // namespace exprun
