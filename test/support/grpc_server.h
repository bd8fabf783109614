// A gRPC server for tests: unary calls, any Stream, any executor.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop::testing {

/// The server's reaction to one call.
struct GrpcReply {
  int status = 0;             ///< grpc-status.
  std::string text;           ///< grpc-message, or the answer's message if the status is 0.
  bool hangs_up = false;      ///< Closes the connection instead.
  bool stays_silent = false;  ///< Never answers.
};
/// Gets path and message. Runs on its own fiber, so it may sleep.
using GrpcHandler = std::function<GrpcReply(const std::string& path, const std::string& message)>;

/// Serves one connection on its own fiber until the client ends it or a reply hangs up.
void serve_grpc(Executor&, std::shared_ptr<Stream>, GrpcHandler);

}  // namespace etcdop::testing
