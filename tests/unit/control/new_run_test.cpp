#include "control/launch/run/new_run.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

TEST_CASE("fresh folder: one that is there already is refused and stays as it is") {
  const TemporaryFolder temporary;
  const fs::path file = temporary.path() / "run" / "precious";
  fs::create_directory(file.parent_path());
  std::ofstream(file) << "weights";
  CHECK_THROWS_WITH_AS(FreshFolder{file.parent_path()},
                       ("launch: the new run's folder '" + file.parent_path().string() +
                        "' already exists; the same command again chooses another name")
                           .c_str(),
                       Error);
  CHECK(fs::exists(file));
}

TEST_CASE("fresh folder: it goes unless it is kept") {
  const TemporaryFolder temporary;
  const fs::path path = temporary.path() / "runs" / "tiny";
  { const FreshFolder fresh(path); }
  CHECK(!fs::exists(path));
  FreshFolder(path).keep();
  CHECK(fs::exists(path));
}
