#include <algorithm>

#include "base/diagnostic.h"
#include "dist/nccl.h"

namespace exprun {

namespace {

std::string key_of(int rank) {
  return "gpus/" + std::to_string(rank);
}

}  // namespace

void require_own_gpu(Rendezvous& rendezvous, const std::string& uuid) {
  const RankPlace& place = rendezvous.place();
  rendezvous.set(key_of(place.rank), uuid);
  for (int rank = 0; rank < place.world_size; ++rank)
    if (rank != place.rank && rendezvous.get(key_of(rank)) == uuid)
      throw Error("dist: ranks " + std::to_string(std::min(rank, place.rank)) + " and " +
                  std::to_string(std::max(rank, place.rank)) + " compute on one GPU, " + uuid +
                  "; start one rank a GPU, or have the launcher say which is a rank's own "
                  "(CUDA_VISIBLE_DEVICES, LOCAL_RANK)");
}

}  // namespace exprun
