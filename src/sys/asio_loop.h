// The production Executor: real time and sockets. Asio stays inside asio_loop.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop {

/// Takes connections on one address. Outlives the accept() that waits on it.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Suspends until somebody connects.
  virtual Result<std::unique_ptr<Stream>> accept() = 0;
  virtual std::uint16_t local_port() const = 0;
};

/// Where a connection may lead to.
enum class Reach {
  Anywhere,
  /// Neither to this machine nor to its link, where clouds answer what only a machine itself may
  /// know.
  Beyond
};

class AsioLoop final : public Executor {
 public:
  AsioLoop();
  ~AsioLoop() override;
  Instant now() const override { return now_; }
  /// Returns when the last fiber has ended.
  void run();
  /// Tries each address of a name in turn, which Asio's one helper thread finds; an address that is
  /// given does not wait for that. Unavailable: nothing was sent. Invalid: of its addresses none is
  /// allowed.
  Result<std::unique_ptr<Stream>> connect(const std::string& host, const std::string& port,
                                          Reach reach = Reach::Anywhere);
  /// `address` is an IP, or empty for all addresses; port 0: any free one. Invalid, or Unavailable
  /// if it is taken.
  Result<std::unique_ptr<Listener>> listen(const std::string& address, std::uint16_t port);
  /// Suspends until the process is asked to end (SIGTERM, SIGINT). From the first call on these
  /// signals do nothing else.
  Woken wait_for_termination();

 private:
  struct Io;
  std::unique_ptr<Io> io_;
  Instant now_;
};

}  // namespace etcdop
