// The production Executor: real time and sockets. Asio stays inside asio_loop.cc.
#pragma once
#include <memory>
#include <string>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop {

class AsioLoop final : public Executor {
 public:
  AsioLoop();
  ~AsioLoop() override;
  Instant now() const override { return now_; }
  /// Returns when the last fiber has ended.
  void run();
  /// Resolves (on Asio's one helper thread) and tries each address in turn. Unavailable: nothing
  /// was sent.
  Result<std::unique_ptr<Stream>> connect(const std::string& host, const std::string& port);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  Instant now_;
};

}  // namespace etcdop
