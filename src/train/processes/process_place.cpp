// SPDX-License-Identifier: Apache-2.0
#include "train/processes/process_place.h"

namespace lime {
namespace {

constexpr int kDefaultPort = 29500;

/// Returns the first of Slurm's nodes: "gpu[07-09,12],x1" begins with gpu07.
std::string first_node(const std::string& nodes) {
  const std::size_t bracket = nodes.find('[');
  const std::size_t comma = nodes.find(',');
  if (bracket == std::string::npos || comma < bracket) return nodes.substr(0, comma);
  const std::size_t end = nodes.find_first_of("-,]", bracket);
  return nodes.substr(0, bracket) + nodes.substr(bracket + 1, end - bracket - 1);
}

}  // namespace

std::optional<ProcessPlace> process_place(const EnvironmentFn& variable) {
  const std::optional<LaunchPlace> launched = launch_place(variable);
  if (!launched) return std::nullopt;
  ProcessPlace place;
  place.rank = launched->rank;
  place.size = launched->size;
  place.local_rank = launched->local_rank;
  int port = kDefaultPort;
  place.address = "127.0.0.1";
  if (launched->launcher == Launcher::kSlurm) {
    place.address = first_node(variable("SLURM_STEP_NODELIST").value_or(place.address));
    const std::string job = variable("SLURM_JOB_ID").value_or("0");
    port = 15000 + environment_number("SLURM_JOB_ID", job, 0, 2000000000) % 20000;
  }
  place.address = variable("MASTER_ADDR").value_or(place.address);
  if (const auto given = variable("MASTER_PORT")) {
    port = environment_number("MASTER_PORT", *given, 1, 65535);
  }
  place.port = static_cast<std::uint16_t>(port);
  place.has_external_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return place;
}

}  // namespace lime
