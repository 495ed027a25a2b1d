// SPDX-License-Identifier: Apache-2.0
#include "train/processes/port_probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace lime {
namespace {

constexpr int kMilliseconds = 1000;

bool accepts(const addrinfo& address) {
  const int connection =
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection < 0) return false;
  bool is_connected = ::connect(connection, address.ai_addr, address.ai_addrlen) == 0;
  if (!is_connected && errno == EINPROGRESS) {
    pollfd waiting = {.fd = connection, .events = POLLOUT, .revents = 0};
    int error = 0;
    socklen_t size = sizeof(error);
    is_connected = ::poll(&waiting, 1, kMilliseconds) == 1 &&
                   ::getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  ::close(connection);
  return is_connected;
}

}  // namespace

bool is_listening(const std::string& address, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) {
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (accepts(*one)) return true;
  }
  return false;
}

}  // namespace lime
