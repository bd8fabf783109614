// Bytes both ways between two ends: TCP, TLS over another stream, or a pipe of the simulation.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace etcdop {

/// One fiber may read while another writes. After a failed call, only close the stream.
class Stream {
 public:
  virtual ~Stream() = default;
  /// At least one byte, or 0 when the other end has finished. Otherwise Unavailable, TimedOut or
  /// Cancelled.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  /// Writes all bytes.
  virtual Result<Done> write(std::string_view) = 0;
  /// Closes at once, without a closing message; a pending read returns.
  virtual void close() = 0;
};

}  // namespace etcdop
