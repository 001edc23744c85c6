// CUDA_VISIBLE_DEVICES, as CUDA's run-time library reads it.
#include "base/machine/visible_gpus.h"

#include <doctest/doctest.h>

using namespace exprun;

namespace {

using Numbers = std::vector<size_t>;

Gpu gpu(const std::string& uuid, std::vector<std::string> instances = {}) {
  return {"a GPU", uuid, 0, 0, std::move(instances)};
}

const std::vector<Gpu> kGpus{gpu("GPU-1111"), gpu("GPU-2222"), gpu("GPU-2333")};

// The last of three is cut in two.
const std::vector<Gpu> kCut{gpu("GPU-1111"), gpu("GPU-2222"),
                            gpu("GPU-2333", {"MIG-aaaa", "MIG-abbb"})};

}  // namespace

TEST_CASE("visible gpus: all where nothing is said, in the order of the list otherwise") {
  CHECK(visible_gpus(kGpus, nullptr) == Numbers{0, 1, 2});
  CHECK(visible_gpus(kGpus, "2,0") == Numbers{2, 0});
  CHECK(visible_gpus(kGpus, " 1, 2nd") == Numbers{1, 2});
  CHECK(visible_gpus(kGpus, "GPU-22,GPU-1111") == Numbers{1, 0});
  CHECK(visible_gpus({}, "0").empty());
}

TEST_CASE("visible gpus: an entry that names nothing ends the list") {
  for (const char* list : {"", "-1", "NoDevFiles", "3", "GPU-3", "GPU-2", "MIG-aaaa", " "})
    CHECK(visible_gpus(kGpus, list).empty());
  CHECK(visible_gpus(kGpus, "0,2,-1,1") == Numbers{0, 2});
  CHECK(visible_gpus(kGpus, "1,GPU-1111,2") == Numbers{1});
  CHECK(visible_gpus(kGpus, "GPU-1111,0") == Numbers{0});
}

TEST_CASE("visible gpus: one that is named twice leaves none") {
  CHECK(visible_gpus(kGpus, "0,1,0").empty());
  CHECK(visible_gpus(kGpus, "GPU-22,GPU-2222").empty());
}

TEST_CASE("visible gpus: of MIG instances a process sees one, and no GPU beside it") {
  CHECK(visible_gpus(kCut, nullptr) == Numbers{2});
  CHECK(visible_gpus(kCut, "0,1") == Numbers{0, 1});
  CHECK(visible_gpus(kCut, "0,2") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-ab") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-aaaa,MIG-abbb") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-GPU-2333/1/0") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-GPU-1111/1/0").empty());
  CHECK(visible_gpus(kCut, "MIG-cccc").empty());
}
