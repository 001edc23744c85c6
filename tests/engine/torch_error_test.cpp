#include "engine/device/torch_error.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <doctest/doctest.h>

#include <algorithm>

namespace exprun {
namespace {

template <class Function>
std::string explanation(Function function) {
  try {
    function();
  } catch (const c10::Error& error) {
    return explain_torch_error(error);
  }
  return "no error";
}

TEST_CASE("torch errors: memory that ran out says what to lower, in one line") {
  const std::string text = explanation([] { at::empty({int64_t{1} << 50}); });
  CAPTURE(text);
  CHECK(text.starts_with("memory: "));
  CHECK(text.find("4503599627370496 bytes") != text.npos);
  CHECK(text.ends_with("; lower batch.micro_batch or the model's size"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 0);
}

TEST_CASE("torch errors: more bytes than can be counted are memory too") {
  CHECK(explanation([] {
          at::empty({int64_t{1} << 40, int64_t{1} << 40});
        }) ==
        "memory: Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]; "
        "lower batch.micro_batch or the model's size");
}

TEST_CASE("torch errors: a GPU's memory and a GPU's failure are told from bugs") {
  CHECK(
      explanation([] { TORCH_CHECK(false, "CUDA out of memory. Tried to allocate 2 GiB"); }) ==
      "memory: CUDA out of memory. Tried to allocate 2 GiB; lower batch.micro_batch or the model's "
      "size");
  CHECK(explanation([] { TORCH_CHECK(false, "CUDA error: unspecified launch failure"); }) ==
        "gpu: CUDA error: unspecified launch failure; check nvidia-smi and the kernel log (dmesg, "
        "Xid) for details; the run can be resumed");
}

TEST_CASE("torch errors: all else is a bug, without a backtrace") {
  CHECK(explanation([] { TORCH_CHECK(false, "two shapes"); }) ==
        "this is a bug of exprun, please report it: two shapes");
}

}  // namespace
}  // namespace exprun
