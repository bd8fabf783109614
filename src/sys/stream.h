// Bytes both ways between two ends: TCP, TLS over another stream, or a pipe of the simulation.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace etcdop {

/// One fiber may read while another writes. A failed call leaves the stream fit only to be closed.
class Stream {
 public:
  virtual ~Stream() = default;
  /// At least one byte, or 0 when the other end has finished. Unavailable, TimedOut or Cancelled
  /// otherwise.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  /// All of it.
  virtual Result<Done> write(std::string_view) = 0;
  /// Ends it at once, without a word; a read that waits returns.
  virtual void close() = 0;
};

}  // namespace etcdop
