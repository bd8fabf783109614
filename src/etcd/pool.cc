#include "etcd/pool.h"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "etcd/grpc_client.h"
#include "http/grpc_channel.h"

namespace etcdop::etcd {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDialLimit = 2s;
constexpr Duration kIdleMax = 5min, kIdleMin = 1s;
constexpr Duration kSilenceMax = 1s;
constexpr Duration kFailureKeptMin = 100ms, kFailureKeptMax = 4s;

/// The part of an endpoint that determines its connection: without the expected member and the
/// token.
Endpoint place_of(Endpoint endpoint) {
  endpoint.cluster.reset();
  endpoint.member.reset();
  endpoint.token.reset();
  return endpoint;
}

/// The name by which we address the server; an IPv6 address in brackets, as in a URL.
std::string authority_of(const Endpoint& place) {
  if (!place.server_name.empty()) return place.server_name;
  const bool v6 = place.address.find(':') != std::string::npos;
  return v6 ? "[" + place.address + "]" : place.address;
}

http::GrpcOptions options_of(const Question& question) {
  http::GrpcOptions out{.silence_max = question.silence_max, .message_max = question.answer_max};
  if (!question.token.empty()) out.fields.emplace_back("token", question.token.reveal());
  return out;
}

class GrpcConnection final : public Connection {
 public:
  GrpcConnection(Executor& executor, std::unique_ptr<Stream> stream, const Endpoint& place,
                 std::shared_ptr<http::ByteBudget> large_answers)
      : executor_(executor),
        large_answers_(std::move(large_answers)),
        channel_(executor, std::move(stream), authority_of(place), large_answers_.get()) {}

  Result<std::string> unary(const Question& question, http::GrpcStatus& status) override {
    const Instant began = executor_.now();
    auto answer = channel_.unary(question.path, question.message, &status, options_of(question));
    const Instant now = executor_.now();
    if (answer || status.code >= 0) heard_ = now;
    else if (answer.failed_with(Code::TimedOut) && heard_ < began && now - began >= kSilenceMax)
      silent_ = true;  // Its node may be dead: nothing else would tell us for minutes.
    return answer;
  }
  Result<Done> stream(const Question& question, const http::GrpcChannel::Sink& sink,
                      http::GrpcStatus& status) override {
    return channel_.stream(question.path, question.message, sink, &status, options_of(question));
  }
  bool usable() const { return !silent_ && channel_.usable(); }

 private:
  Executor& executor_;
  std::shared_ptr<http::ByteBudget> large_answers_;  // Outlives the pool while a call runs.
  http::GrpcChannel channel_;
  Instant heard_ = Instant::min();
  bool silent_ = false;
};

}  // namespace

struct Pool::State : std::enable_shared_from_this<State> {
  State(Executor& e, Dial d, Limits l) : executor(e), dial(std::move(d)), limits(l) {}

  std::shared_ptr<Link> link_to(const Endpoint& place);
  bool make_room();
  void sweep();
  void sweep_later();

  Executor& executor;
  const Dial dial;
  const Limits limits;
  const std::shared_ptr<http::ByteBudget> large_answers =
      std::make_shared<http::ByteBudget>(limits.large_answers);
  std::map<Endpoint, std::weak_ptr<Link>> links;  // Links that are in use, or open.
  std::list<std::shared_ptr<Link>> open;          // Longest unused first.
  std::shared_ptr<Fiber> sweeper;
  Wait* resting = nullptr;  // Set while the sweeper rests.
  bool closed = false;
};

/// One place and its connection, if it is connected: then it is in State::open.
class Pool::Link final : public Connections, public std::enable_shared_from_this<Link> {
 public:
  Link(std::shared_ptr<State> state, Endpoint place)
      : state_(std::move(state)), place_(std::move(place)) {}
  ~Link() override { state_->links.erase(place_); }

  Result<std::shared_ptr<Connection>> connection() override;
  /// No call runs on the connection.
  bool idle() const { return connection_.use_count() == 1; }
  Instant used() const { return used_; }
  /// Closes the connection as soon as its last call has ended. May suspend.
  void hang_up();
  /// The fiber that is dialing now, or null.
  std::shared_ptr<Fiber> dialing_fiber() const { return dialing_ ? dialing_->fiber : nullptr; }

 private:
  using Outcome = Result<std::shared_ptr<Connection>>;
  struct Dialing {
    std::list<Wait*> waiting;
    std::optional<Outcome> outcome;
    std::shared_ptr<Fiber> fiber;
  };
  void start_dialing();
  Outcome dial();
  Outcome dialled(std::unique_ptr<Stream>);
  void use();

  std::shared_ptr<State> state_;
  const Endpoint place_;
  std::shared_ptr<GrpcConnection> connection_;
  std::list<std::shared_ptr<Link>>::iterator position_;  // In State::open, while connected.
  std::shared_ptr<Dialing> dialing_;
  Instant used_{};
  std::optional<Error> failure_;
  Instant failure_until_{};
};

Result<std::shared_ptr<Connection>> Pool::Link::connection() {
  if (connection_ && !connection_->usable()) hang_up();
  if (state_->closed) return Error{Code::Unavailable, "closed"};
  if (connection_ && connection_->usable()) {
    use();
    return std::shared_ptr<Connection>(connection_);
  }
  if (failure_ && state_->executor.now() < failure_until_) return *failure_;
  if (!dialing_) start_dialing();

  const auto dialing = dialing_;
  Wait wait(state_->executor);
  dialing->waiting.push_back(&wait);
  const Woken woken = wait.until();
  dialing->waiting.remove(&wait);
  if (woken == Woken::Cancelled) return to_result(woken, "dial").error();
  // Whatever the call: it was not sent.
  if (woken == Woken::Deadline) return Error{Code::Unavailable, "dial: deadline passed"};
  return *dialing->outcome;
}

void Pool::Link::start_dialing() {
  dialing_ = std::make_shared<Dialing>();
  dialing_->fiber = state_->executor.spawn([self = shared_from_this(), dialing = dialing_.get()] {
    // `self` keeps `dialing`; no other code replaces it while it is set.
    const Instant began = self->state_->executor.now();
    Outcome outcome = self->dial();
    if (!outcome) {
      const Instant now = self->state_->executor.now();
      self->failure_ = outcome.error();
      self->failure_until_ = now + std::clamp(2 * (now - began), kFailureKeptMin, kFailureKeptMax);
    } else {
      self->failure_.reset();
    }
    dialing->outcome = std::move(outcome);
    const auto done = std::exchange(self->dialing_, nullptr);
    for (Wait* wait : done->waiting) (void)wait->notify();
  });
}

Pool::Link::Outcome Pool::Link::dial() {
  if (!state_->make_room())
    return Error{Code::Unavailable, "dial: all " + std::to_string(state_->limits.connections) +
                                        " connections are busy"};
  const Within limit(state_->executor, kDialLimit);
  auto stream = state_->dial(place_);
  if (!stream) {
    Error error = Error(stream.error()).during("dial");
    if (error.code != Code::Denied) error.code = Code::Unavailable;
    return error;
  }
  return dialled(std::move(*stream));
}

Pool::Link::Outcome Pool::Link::dialled(std::unique_ptr<Stream> stream) {
  // Other fibers may have dialled, or closed the pool, meanwhile.
  if (!state_->make_room() || state_->closed)
    return Error{Code::Unavailable, "dial: no place in the pool any more"};
  const NoSuspend whole(state_->executor);
  connection_ = std::make_shared<GrpcConnection>(state_->executor, std::move(stream), place_,
                                                 state_->large_answers);
  position_ = state_->open.insert(state_->open.end(), shared_from_this());
  use();
  state_->sweep_later();
  return std::shared_ptr<Connection>(connection_);
}

void Pool::Link::use() {
  used_ = state_->executor.now();
  state_->open.splice(state_->open.end(), state_->open, position_);
}

void Pool::Link::hang_up() {
  if (!connection_) return;
  const auto self = *position_;  // This may be the last reference to this link.
  state_->open.erase(position_);
  const auto last = std::exchange(connection_, nullptr);  // Its destructor waits for its reader.
}

std::shared_ptr<Pool::Link> Pool::State::link_to(const Endpoint& place) {
  auto& known = links[place];
  auto link = known.lock();
  if (!link) known = link = std::make_shared<Link>(shared_from_this(), place);
  return link;
}

/// False if every connection has a call running, so that none can be closed. May suspend.
bool Pool::State::make_room() {
  while (open.size() >= limits.connections) {
    const auto victim = std::ranges::find_if(open, [](const auto& link) { return link->idle(); });
    if (victim == open.end()) return false;
    (*victim)->hang_up();
  }
  return true;
}

void Pool::State::sweep_later() {
  if (!sweeper) sweeper = executor.spawn([self = shared_from_this()] { self->sweep(); });
  else if (resting && open.size() > limits.unused) (void)resting->notify();
}

/// Runs while connections are open.
void Pool::State::sweep() {
  while (!open.empty() && !closed) {
    const auto unused = std::ranges::find_if(open, [](const auto& link) { return link->idle(); });
    const Duration kept = open.size() > limits.unused ? kIdleMin : kIdleMax;
    const Instant due = unused == open.end() ? executor.now() + kIdleMin : (*unused)->used() + kept;
    if (executor.now() >= due) {
      std::shared_ptr<Link>(*unused)->hang_up();  // A copy, because it leaves the list.
      continue;
    }
    Wait until_due(executor);
    resting = &until_due;
    const Woken woken = until_due.until(due);
    resting = nullptr;
    if (woken == Woken::Cancelled) break;
  }
  sweeper.reset();
}

Pool::Pool(Executor& executor, Dial dial) : Pool(executor, std::move(dial), Limits()) {}

Pool::Pool(Executor& executor, Dial dial, Limits limits)
    : state_(std::make_shared<State>(executor, std::move(dial), limits)) {}

Pool::~Pool() { close(); }

std::shared_ptr<Client> Pool::at(const Endpoint& endpoint) {
  return std::make_shared<GrpcClient>(state_->executor, state_->link_to(place_of(endpoint)),
                                      endpoint);
}

std::size_t Pool::open() const { return state_->open.size(); }

void Pool::close() {
  state_->closed = true;
  std::vector<std::shared_ptr<Fiber>> fibers;
  for (const auto& [place, known] : state_->links) {
    const auto link = known.lock();
    if (link && link->dialing_fiber()) fibers.push_back(link->dialing_fiber());
  }
  if (state_->sweeper) fibers.push_back(state_->sweeper);
  for (const auto& fiber : fibers) fiber->cancel();
  while (!state_->open.empty()) { state_->open.front()->hang_up(); }
  if (!state_->executor.running()) return;  // The fibers end when the loop next runs.
  const Shield whole(state_->executor);
  for (const auto& fiber : fibers) (void)fiber->join();
}

}  // namespace etcdop::etcd
