// The other end of a connection: sends an input in pieces, whatever it receives.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop::fuzz {

/// One piece each millisecond, so that requests go out before their answers arrive.
class ScriptedStream final : public Stream {
 public:
  struct Script {
    std::string_view bytes;        ///< Outlives the stream.
    std::size_t piece = 1;         ///< Bytes; at least 1.
    bool stays_silent = false;     ///< After the bytes, instead of closing.
    std::string* heard = nullptr;  ///< All that was written; may be null.
  };
  ScriptedStream(Executor& executor, const Script& script)
      : executor_(executor), script_(script), rest_(script.bytes) {}

  Result<std::size_t> read(std::span<char> into) override {
    const Duration pause = std::chrono::milliseconds(1);
    const bool over = rest_.empty() && script_.stays_silent;
    const Woken woken = executor_.sleep(over ? std::chrono::hours(1) : pause);
    if (auto slept = to_result(woken, "read"); !slept) return slept.error();
    if (closed_) return Error{Code::Unavailable, "closed"};
    const std::size_t size = std::min({into.size(), rest_.size(), script_.piece});
    std::memcpy(into.data(), rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }
  Result<Done> write(std::string_view bytes) override {
    if (closed_) return Error{Code::Unavailable, "closed"};
    if (script_.heard) *script_.heard += bytes;
    return Done{};
  }
  void close() override { closed_ = true; }

 private:
  Executor& executor_;
  const Script script_;
  std::string_view rest_;
  bool closed_ = false;
};

}  // namespace etcdop::fuzz
