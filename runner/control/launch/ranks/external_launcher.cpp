#include "control/launch/ranks/external_launcher.h"

#include <cstdlib>
#include <string_view>

#include "base/diagnostic.h"
#include "base/format_units.h"

namespace exprun {
namespace {

// Where a socket can listen; port 0 is none.
std::optional<uint16_t> port_in(std::string_view text) {
  const auto port = parse_number<uint16_t>(text);
  return port != 0 ? port : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  std::optional<std::string> find(const char* name) const {
    const char* const value = variables_(name);
    return value && *value ? std::optional<std::string>(value) : std::nullopt;
  }
  std::string text(const char* name) const {
    if (auto value = find(name)) return *value;
    throw Error(std::string("launch: this is a rank of an external launcher, but ") + name +
                " is not set");
  }
  int number(const char* name) const { return number_in(name, text(name)); }
  int number(const char* name, int otherwise) const {
    const auto value = find(name);
    return value ? number_in(name, *value) : otherwise;
  }
  uint16_t port(const char* name) const {
    const std::string said = text(name);
    if (const auto port = port_in(said)) return *port;
    throw Error(std::string("launch: ") + name + " must be a port, from 1 to 65535, not '" + said +
                "'");
  }

 private:
  static int number_in(const char* name, const std::string& text) {
    if (const auto value = parse_number<int>(text); value >= 0) return *value;
    throw Error(std::string("launch: ") + name + " must be a number, not '" + text + "'");
  }

  const Variables& variables_;
};

// Where nobody says a port: one that all ranks of a job find alike, below those that systems give
// away themselves.
uint16_t port_of(const std::string& job) {
  uint32_t hash = 2166136261u;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<uint16_t>(15000 + hash % 15000);
}

void read_rendezvous_point(const Reader& read, LocalRanks& ranks, const std::string& address,
                           const std::string& job) {
  ranks.address = read.find("MASTER_ADDR").value_or(address);
  ranks.port = read.find("MASTER_PORT") ? read.port("MASTER_PORT") : port_of(job);
  ranks.job = job;
}

LocalRanks of_torchrun(const Reader& read) {
  LocalRanks ranks;
  ranks.rank = read.number("RANK");
  ranks.world_size = read.number("WORLD_SIZE");
  ranks.local_rank = read.number("LOCAL_RANK", 0);
  ranks.address = read.text("MASTER_ADDR");
  ranks.port = read.port("MASTER_PORT");
  ranks.job = read.find("TORCHELASTIC_RUN_ID").value_or("");
  ranks.several_machines = read.number("LOCAL_WORLD_SIZE", ranks.world_size) < ranks.world_size;
  ranks.store_is_served = read.find("TORCHELASTIC_USE_AGENT_STORE") == "True";
  ranks.restarts = read.number("TORCHELASTIC_RESTART_COUNT", 0);
  return ranks;
}

LocalRanks of_mpirun(const Reader& read) {
  LocalRanks ranks;
  ranks.rank = read.number("OMPI_COMM_WORLD_RANK");
  ranks.world_size = read.number("OMPI_COMM_WORLD_SIZE");
  ranks.local_rank = read.number("OMPI_COMM_WORLD_LOCAL_RANK", 0);
  const int here = read.number("OMPI_COMM_WORLD_LOCAL_SIZE", ranks.world_size);
  ranks.several_machines = here < ranks.world_size;
  if (ranks.several_machines && !read.find("MASTER_ADDR"))
    throw Error(
        "launch: mpirun does not say where rank 0 is; give its host to all ranks: mpirun -x "
        "MASTER_ADDR=HOST");
  read_rendezvous_point(
      read, ranks, "127.0.0.1",
      read.find("PMIX_NAMESPACE").value_or(read.find("OMPI_MCA_ess_base_jobid").value_or("mpi")));
  return ranks;
}

// "node[03-05,9],other" -> "node03"
std::string first_host(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  const size_t digits = list.find_first_not_of("0123456789", end + 1);
  return list.substr(0, end) + list.substr(end + 1, digits - end - 1);
}

LocalRanks of_srun(const Reader& read) {
  LocalRanks ranks;
  ranks.rank = read.number("SLURM_PROCID");
  ranks.world_size = read.number("SLURM_STEP_NUM_TASKS");
  ranks.local_rank = read.number("SLURM_LOCALID", 0);
  ranks.several_machines = read.number("SLURM_STEP_NUM_NODES", 1) > 1;
  read_rendezvous_point(read, ranks, first_host(read.text("SLURM_STEP_NODELIST")),
                        read.text("SLURM_JOB_ID") + "." + read.text("SLURM_STEP_ID"));
  ranks.restarts = read.number("SLURM_RESTART_COUNT", 0);
  return ranks;
}

// A batch script has SLURM_PROCID too; only the tasks of srun have the numbers of a step.
std::optional<LocalRanks> of_any(const Reader& read) {
  if (read.find("RANK") && read.find("WORLD_SIZE")) return of_torchrun(read);
  if (read.find("OMPI_COMM_WORLD_RANK")) return of_mpirun(read);
  if (read.find("SLURM_PROCID") && read.find("SLURM_STEP_NUM_TASKS")) return of_srun(read);
  return std::nullopt;
}

// "[fd00::1]" as in addresses of the web.
std::string without_brackets(const std::string& host) {
  return host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2) : host;
}

constexpr int64_t kMostRanks = 1 << 20;

Error wrong_machines(const std::string& what) {
  return Error("command line: " + what, ExitCode::bad_recipe);
}

}  // namespace

LocalRanks ranks_of_machine(const Machines& machines) {
  const auto& [nnodes, nproc, node_rank, endpoint] = machines;
  if (nnodes > kMostRanks / nproc)
    throw wrong_machines("--nnodes times --nproc-per-node is more than " +
                         std::to_string(kMostRanks) + " ranks");
  if (node_rank < 0 || node_rank >= nnodes)
    throw wrong_machines("--node-rank must be from 0 to " + std::to_string(nnodes - 1) + ", not " +
                         std::to_string(node_rank));
  const size_t colon = endpoint.rfind(':');
  const auto port = colon == std::string::npos || colon == 0
                        ? std::nullopt
                        : port_in(std::string_view(endpoint).substr(colon + 1));
  if (!port)
    throw wrong_machines(
        "--rdzv-endpoint takes HOST:PORT of the machine with --node-rank=0, not '" + endpoint +
        "'");
  LocalRanks ranks;
  ranks.rank = static_cast<int>(node_rank * nproc);
  ranks.world_size = static_cast<int>(nnodes * nproc);
  ranks.ranks_here = static_cast<int>(nproc);
  ranks.restarts_here = true;
  ranks.several_machines = nnodes > 1;
  ranks.address = without_brackets(endpoint.substr(0, colon));
  ranks.port = *port;
  return ranks;
}

std::optional<LocalRanks> external_rank() {
  return external_rank([](const char* name) { return std::getenv(name); });
}

std::optional<LocalRanks> external_rank(const Variables& variables) {
  const auto ranks = of_any(Reader(variables));
  if (!ranks || ranks->world_size == 1) return std::nullopt;
  if (ranks->rank < ranks->world_size) return ranks;
  throw Error("launch: rank " + std::to_string(ranks->rank) + " of " +
              std::to_string(ranks->world_size) +
              " ranks does not exist: ranks are numbered from 0");
}

}  // namespace exprun
