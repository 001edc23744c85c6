#include "engine/device/kernel_file.h"

#include <doctest/doctest.h>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "engine/device/kernel_choices.h"
#include "support/temporary_folder.h"

namespace exprun {
namespace {

TEST_CASE("kernel choices: a file of an earlier life is taken over and kept") {
  const TemporaryFolder folder;
  const auto file = folder.write("kernels.json", R"({"forward 7919x3x5": "onednn"})");
  KernelFile choices(file);
  choices.keep();
  CHECK(kernel_choices::save().at("forward 7919x3x5") == "onednn");
  CHECK(nlohmann::json::parse(read_file(file)) == kernel_choices::save());
}

TEST_CASE("kernel choices: what the file has already is not written again") {
  const TemporaryFolder folder;
  kernel_choices::load({{"forward 7919x3x5", "onednn"}});
  const auto file = folder.write("kernels.json", kernel_choices::save().dump());
  KernelFile choices(file);
  std::filesystem::remove(file);
  choices.keep();
  CHECK_FALSE(std::filesystem::exists(file));

  std::filesystem::remove_all(folder.path());
  kernel_choices::load({{"forward 7919x3x7", "onednn"}});
  CHECK_NOTHROW(choices.keep());  // a warning: the file of the earlier life was there
}

TEST_CASE("kernel choices: a damaged file and a place that cannot be written to are errors") {
  const TemporaryFolder folder;
  const auto file = folder.write("kernels.json", "{");
  CHECK_THROWS_WITH_AS(KernelFile{file},
                       ("kernels: '" + file.string() +
                        "' is damaged; remove it, the newest checkpoint has its content too")
                           .c_str(),
                       Error);
  KernelFile nowhere(folder.path() / "missing" / "kernels.json");
  CHECK_THROWS_AS(nowhere.keep(), Error);
}

}  // namespace
}  // namespace exprun
