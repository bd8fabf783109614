// The production Executor: real time and sockets. Asio stays inside asio_loop.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop {

/// Accepts connections on one address. Outlives the accept() that waits on it.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Suspends until a client connects.
  virtual Result<std::unique_ptr<Stream>> accept() = 0;
  virtual std::uint16_t local_port() const = 0;
};

/// Allowed destinations of a connection.
enum class Reach {
  Anywhere,
  /// Neither this machine nor its link: there, clouds serve what only the machine itself may know.
  Beyond
};

class AsioLoop final : public Executor {
 public:
  AsioLoop();
  ~AsioLoop() override;
  Instant now() const override { return now_; }
  /// Returns when the last fiber has ended.
  void run();
  /// Tries each address of a name in turn. Asio's one helper thread resolves names; a numeric
  /// address does not wait for it. Unavailable: nothing was sent. Invalid: no address of the name
  /// is allowed.
  Result<std::unique_ptr<Stream>> connect(const std::string& host, const std::string& port,
                                          Reach reach = Reach::Anywhere);
  /// `address` is an IP, or empty for all addresses; port 0 picks a free one. Invalid, or
  /// Unavailable if it is taken.
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
