#include "base/process/program.h"

#include <doctest/doctest.h>

using namespace exprun;

TEST_CASE("program: it knows its file") {
  CHECK(own_program().filename() == "unit_base");
}
