#include "engine/attempt/core_share.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace exprun {
namespace {

using nlohmann::json;

std::string key_of(int rank) {
  return "cores/" + std::to_string(rank);
}

}  // namespace

CoreShare share_of_cores(Rendezvous& rendezvous, const Cores& own) {
  const RankPlace& place = rendezvous.place();
  rendezvous.set(key_of(place.rank), json_text(json{{"host", own.host}, {"cores", own.names}}));
  Cores together{own.host, {}, own.limit};
  std::set<std::string> hosts;
  int sharers = 0;
  for (int rank = 0; rank < place.world_size; ++rank) {
    const json other = parse_json<json>(rendezvous.get(key_of(rank)));
    hosts.insert(other.at("host"));
    if (other.at("host") != own.host) continue;
    ++sharers;
    together.names.merge(other.at("cores").get<std::set<std::string>>());
  }
  return {std::max(1, std::min(own.count(), together.count() / sharers)),
          static_cast<int>(hosts.size())};
}

}  // namespace exprun
