#include "dist/meeting.h"

#include "dist/gloo.h"

namespace exprun {

Meeting::Meeting(const RankPlace& place) {
  if (place.world_size == 1) {
    group = single_process();
  } else {
    rendezvous.emplace(place);
    group = gloo_group(*rendezvous);
  }
}

}  // namespace exprun
