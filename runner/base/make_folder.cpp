#include "base/make_folder.h"

#include <system_error>

#include "base/file_error.h"

namespace exprun {

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw file_error("make folder", folder, error.value());
}

}  // namespace exprun
