#include "engine/device/torch_error.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <doctest/doctest.h>

#include <new>
#include <string>

namespace exprun {
namespace {

const std::string kRemedy =
    "; lower batch.micro_batch or the model's size, or set model.checkpoint_activations = true";

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
  CHECK(text == "memory: 4.00 PiB more could not be allocated" + kRemedy);
}

TEST_CASE("torch errors: more bytes than can be counted are memory too") {
  CHECK(explanation([] {
          at::empty({int64_t{1} << 40, int64_t{1} << 40});
        }) ==
        "memory: a tensor of [1099511627776, 1099511627776] elements is larger than any memory; "
        "use a smaller model");
}

TEST_CASE("torch errors: a GPU's memory and a GPU's failure are told from bugs") {
  const auto says = [](const std::string& message) {
    return explanation([&] { TORCH_CHECK(false, message); });
  };
  CHECK(says("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.11 "
             "GiB of which 5.00 GiB is free. Of the allocated memory 70 GiB is allocated by "
             "PyTorch") ==
        "memory: 20.00 GiB more of GPU memory could not be allocated (it has 79.11 GiB of which "
        "5.00 GiB is free)" +
            kRemedy);
  CHECK(says("CUDA out of memory") == "memory: out of GPU memory" + kRemedy);
  CHECK(explanation([] { TORCH_CHECK(false, "CUDA error: unspecified launch failure"); }) ==
        "gpu: CUDA error: unspecified launch failure; check nvidia-smi and the kernel log (dmesg, "
        "Xid) for details; the run can be resumed");
}

TEST_CASE("torch errors: memory that the C++ library had not is told the same way") {
  CHECK(explain_failure(std::bad_alloc()) == "memory: out of memory" + kRemedy);
}

TEST_CASE("torch errors: all else is a bug, without a backtrace") {
  CHECK(explanation([] { TORCH_CHECK(false, "two shapes"); }) ==
        "this is a bug of exprun, please report it: two shapes");
}

}  // namespace
}  // namespace exprun
