#include "support/rank_threads.h"

#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "dist/gloo.h"

namespace exprun {

RankPlace place_of(int rank, int world_size, const ListeningSocket& listening) {
  RankPlace place;
  place.rank = rank;
  place.world_size = world_size;
  place.port = listening.port;
  if (rank == 0) place.listening_fd = ::dup(listening.fd.get());  // the store closes it
  return place;
}

RankPlace served_place(int rank, int world_size, const ListeningSocket& listening) {
  RankPlace place = place_of(1, world_size, listening);
  place.rank = rank;
  place.store_is_served = place.external_launcher = true;
  return place;
}

void on_ranks(int world_size, const OfRank& of_rank) {
  // c10d's flight recorder is one a process: several groups in threads write to it at once.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
  const ListeningSocket listening = listen_on_loopback();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      // Ends after the rendezvous: a process that is gone answers nothing when its connections
      // end.
      std::shared_ptr<ProcessGroup> group;
      Rendezvous rendezvous(place_of(rank, world_size, listening));
      group = gloo_group(rendezvous, kRankPatience);
      rendezvous.membership()->all_exchange();
      of_rank(group, rendezvous);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace exprun
