// SPDX-License-Identifier: Apache-2.0
#include "train/process_place.h"

#include <charconv>
#include <cstdlib>

#include "core/errors.h"

namespace lime {
namespace {

/// The variables of one starter.
struct Starter {
  const char* rank;
  const char* size;
  const char* local_rank;
};

constexpr Starter kStarters[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"}};

constexpr int kDefaultPort = 29500;

int number_in(const char* name, const std::string& text, int least, int most) {
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < least ||
      value > most) {
    throw InvalidArgument("{}: must be a whole number from {} to {}, got '{}'", name, least, most,
                          text);
  }
  return value;
}

/// The first of Slurm's nodes: "gpu[07-09,12],x1" begins with gpu07.
std::string first_node(const std::string& nodes) {
  const std::size_t bracket = nodes.find('[');
  const std::size_t comma = nodes.find(',');
  if (bracket == std::string::npos || comma < bracket) return nodes.substr(0, comma);
  const std::size_t end = nodes.find_first_of("-,]", bracket);
  return nodes.substr(0, bracket) + nodes.substr(bracket + 1, end - bracket - 1);
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<ProcessPlace> process_place(const EnvironmentFn& variable) {
  for (const Starter& starter : kStarters) {
    const auto rank = variable(starter.rank);
    const auto size = variable(starter.size);
    if (!rank || !size) continue;
    constexpr int kMany = 1 << 20;
    ProcessPlace place;
    place.size = number_in(starter.size, *size, 1, kMany);
    place.rank = number_in(starter.rank, *rank, 0, place.size - 1);
    if (place.size == 1) return std::nullopt;
    place.local_rank = number_in(starter.local_rank, variable(starter.local_rank).value_or("0"), 0,
                                 place.size - 1);
    int port = kDefaultPort;
    place.address = "127.0.0.1";
    if (starter.rank == kStarters[1].rank) {
      place.address = first_node(variable("SLURM_STEP_NODELIST").value_or(place.address));
      const std::string job = variable("SLURM_JOB_ID").value_or("0");
      port = 15000 + number_in("SLURM_JOB_ID", job, 0, 2000000000) % 20000;
    }
    place.address = variable("MASTER_ADDR").value_or(place.address);
    if (const auto given = variable("MASTER_PORT")) {
      port = number_in("MASTER_PORT", *given, 1, 65535);
    }
    place.port = static_cast<std::uint16_t>(port);
    place.has_keeper = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
    return place;
  }
  return std::nullopt;
}

}  // namespace lime
