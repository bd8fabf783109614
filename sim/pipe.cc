#include "sim/pipe.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <string>

namespace etcdop::sim {
namespace {

/// One direction.
struct Flow {
  std::string bytes;
  std::size_t window;
  bool finished = false;  // The writer closed: the reader drains the rest, then sees the end.
  bool broken = false;    // The reader closed: nothing that is written will be read.
  std::list<Wait*> waiting;
  void changed() {
    for (Wait* wait : std::exchange(waiting, {})) (void)wait->notify();
  }
  Woken wait(Executor& executor) {
    Wait wait(executor);
    waiting.push_back(&wait);
    const Woken woken = wait.until();
    waiting.remove(&wait);
    return woken;
  }
};

class End final : public Stream {
 public:
  End(Executor& executor, std::shared_ptr<Flow> in, std::shared_ptr<Flow> out)
      : executor_(executor), in_(std::move(in)), out_(std::move(out)) {}
  ~End() override { close(); }

  Result<std::size_t> read(std::span<char> into) override {
    const auto flow = in_;
    while (flow->bytes.empty()) {
      if (flow->broken) return Error{Code::Unavailable, "read: closed"};
      if (flow->finished) return std::size_t{0};
      if (auto woken = to_result(flow->wait(executor_), "read"); !woken) return woken.error();
    }
    const std::size_t n = std::min(into.size(), flow->bytes.size());
    std::memcpy(into.data(), flow->bytes.data(), n);
    flow->bytes.erase(0, n);
    flow->changed();
    return n;
  }

  Result<Done> write(std::string_view bytes) override {
    const auto flow = out_;
    while (!bytes.empty()) {
      if (flow->finished || flow->broken) return Error{Code::Unavailable, "write: closed"};
      if (flow->bytes.size() >= flow->window) {
        if (auto woken = to_result(flow->wait(executor_), "write"); !woken) return woken.error();
        continue;
      }
      const std::size_t n = std::min(bytes.size(), flow->window - flow->bytes.size());
      flow->bytes += bytes.substr(0, n);
      bytes.remove_prefix(n);
      flow->changed();
    }
    return Done{};
  }

  void close() override {
    out_->finished = true;
    in_->broken = true;
    out_->changed();
    in_->changed();
  }

 private:
  Executor& executor_;
  std::shared_ptr<Flow> in_, out_;
};

}  // namespace

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> pipe(Executor& executor,
                                                                 std::size_t window) {
  auto there = std::make_shared<Flow>(), back = std::make_shared<Flow>();
  there->window = back->window = window;
  return {std::make_unique<End>(executor, back, there),
          std::make_unique<End>(executor, there, back)};
}

}  // namespace etcdop::sim
