// Two ends of an in-memory connection: each end reads what the other writes.
#pragma once
#include <memory>
#include <utility>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop::sim {

/// A connected pair. Each end buffers at most `window` bytes: a writer waits for its reader.
std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> pipe(Executor& executor,
                                                                 std::size_t window = 64 * 1024);

}  // namespace etcdop::sim
