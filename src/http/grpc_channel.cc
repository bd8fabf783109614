#include "http/grpc_channel.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "http/grpc_wire.h"

namespace etcdop::http {
namespace {

constexpr std::int32_t kWindow = 256 << 10;  // Unread bytes per call, so also the memory of a call.
constexpr std::size_t kSmallAnswer = 4 << 10;  // Needs no room in the budget.
constexpr std::size_t kHeaderLimit = 64 << 10;
constexpr std::size_t kPiece = 2 << 10, kPieceMax = 16 << 10;  // Bytes per read.
constexpr Duration kWriteLimit = std::chrono::seconds(5);      // A peer that reads nothing is dead.
constexpr Duration kLastWords = std::chrono::seconds(1);       // To read why the server closed.

/// One call, on the stack of the fiber that makes it.
struct Call {
  std::string request;  // With its prefix.
  GrpcOptions options;
  std::size_t sent = 0;
  std::string arrived;  // Raw DATA, not yet parsed.
  int http_status = -1;
  GrpcStatus status;
  std::size_t header_bytes = 0;
  bool closed = false;
  bool refused = false;  // The server promised that it did not process the call.
  Wait* waiting = nullptr;

  void wake() {
    if (waiting) (void)waiting->notify();
  }
  /// False when the header is too long.
  bool take_field(std::string_view name, std::string_view value) {
    header_bytes += name.size() + value.size();
    if (name == ":status") http_status = to_number(value);
    else if (name == "grpc-status")
      status.code = to_number(value);  // In the trailers, or in the only headers.
    else if (name == "grpc-message") status.message = as_utf8(percent_decoded(value));
    return header_bytes <= kHeaderLimit;
  }
  bool header_too_long() const { return header_bytes > kHeaderLimit; }
};

template <class T>
std::string_view view(const T* p, std::size_t n) {
  return {reinterpret_cast<const char*>(p), n};
}

nghttp2_nv field(std::string_view name, std::string_view value,
                 std::uint8_t flags = NGHTTP2_NV_FLAG_NONE) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), flags};
}

}  // namespace

/// The HTTP/2 connection and its two fibers: one reads as long as the connection lives, one writes
/// whenever there is something to write. So no caller waits for a slow server beyond its own
/// deadline, and a caller that gives up never leaves half a frame behind.
class GrpcChannel::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Executor& executor, std::unique_ptr<Stream> stream, std::string authority,
             ByteBudget* large_answers)
      : executor_(executor),
        stream_(std::move(stream)),
        authority_(std::move(authority)),
        large_answers_(large_answers) {}
  ~Connection() { nghttp2_session_del(session_); }

  void open();
  bool usable() const { return !goodbye_ && nghttp2_session_check_request_allowed(session_); }
  /// Returns when the server has ended the call; errors without the path.
  Result<Done> carry(std::string_view path, Call&, const Sink&);
  void end(Error why);
  void join();
  Executor& executor() { return executor_; }

 private:
  static Connection& self(void* p) { return *static_cast<Connection*>(p); }
  static void set_callbacks(nghttp2_session_callbacks*);
  Call* call_of(std::int32_t id) const {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session_, id));
  }
  Result<std::int32_t> submit(std::string_view path, Call&);
  Result<Done> receive(std::int32_t id, Call&, const Sink&);
  Result<Done> wait_for_more(Call&);
  Result<bool> deliver(Call&, GrpcMessages&, const Sink&);
  void take(std::int32_t id, Call&, GrpcMessages&);
  Result<Done> outcome(const Call&) const;
  void give_up(std::int32_t id, Call&);
  void close(std::int32_t id, bool refused);
  void read();
  void write();
  void end_if_over();
  void flush();
  std::string pull();

  Executor& executor_;
  std::unique_ptr<Stream> stream_;
  std::string authority_;
  ByteBudget* large_answers_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Call*> calls_;
  std::shared_ptr<Fiber> reader_, writer_;
  std::optional<Error> ended_;
  bool writing_ = false, goodbye_ = false;
};

void GrpcChannel::Connection::set_callbacks(nghttp2_session_callbacks* on) {
  nghttp2_session_callbacks_set_on_header_callback(
      on, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
             std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
             void* p) {
        Call* call = self(p).call_of(frame->hd.stream_id);
        const bool taken =
            !call || call->take_field(view(name, name_size), view(value, value_size));
        return taken ? 0 : static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      on, [](nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
             std::size_t size, void* p) {
        if (Call* call = self(p).call_of(id)) {
          call->arrived.append(view(data, size));
          call->wake();
        } else {  // For an abandoned call: no caller will open the window again.
          nghttp2_session_consume_connection(session, size);
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      on, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* p) {
        self(p).close(id, error == NGHTTP2_REFUSED_STREAM);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      on, [](nghttp2_session*, const nghttp2_frame* frame, void* p) {
        if (frame->hd.type == NGHTTP2_GOAWAY) self(p).goodbye_ = true;
        return 0;
      });
}

void GrpcChannel::Connection::open() {
  nghttp2_session_callbacks* on = nullptr;
  nghttp2_option* options = nullptr;
  nghttp2_session_callbacks_new(&on);
  nghttp2_option_new(&options);
  set_callbacks(on);
  // We open the window as the caller takes bytes out.
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_session_client_new2(&session_, on, this, options);
  nghttp2_option_del(options);
  nghttp2_session_callbacks_del(on);
  check(session_ != nullptr, "nghttp2 has memory");
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
                                             {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                             {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeaderLimit}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 3);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 4 * kWindow);
  reader_ = executor_.spawn([me = shared_from_this()] { me->read(); });
  flush();
}

Result<Done> GrpcChannel::Connection::carry(std::string_view path, Call& call, const Sink& sink) {
  if (!usable()) return Error{Code::Unavailable, "connection is going away"};
  auto id = submit(path, call);
  if (!id) return id.error();
  flush();
  auto received = receive(*id, call, sink);
  give_up(*id, call);
  return received;
}

Result<std::int32_t> GrpcChannel::Connection::submit(std::string_view path, Call& call) {
  const Instant deadline = executor_.running()->deadline();
  std::string timeout;
  if (deadline != Instant::max()) {
    if (deadline <= executor_.now()) return Error{Code::TimedOut, "deadline passed"};
    timeout = to_grpc_timeout(deadline - executor_.now());
  }
  std::vector<nghttp2_nv> fields = {field(":method", "POST"),
                                    field(":scheme", "https"),
                                    field(":path", path),
                                    field(":authority", authority_),
                                    field("content-type", "application/grpc"),
                                    field("te", "trailers")};
  if (!timeout.empty()) fields.push_back(field("grpc-timeout", timeout));
  for (const auto& [name, value] : call.options.fields)
    fields.push_back(field(name, value, NGHTTP2_NV_FLAG_NO_INDEX));
  nghttp2_data_provider body{};
  body.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* into, std::size_t space,
                          std::uint32_t* flags, nghttp2_data_source*, void* p) -> ssize_t {
    Call* from = self(p).call_of(id);
    if (!from) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // The caller gave up meanwhile.
    const std::size_t n = std::min(space, from->request.size() - from->sent);
    std::memcpy(into, from->request.data() + from->sent, n);
    from->sent += n;
    if (from->sent == from->request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  };
  const std::int32_t id =
      nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &body, &call);
  if (id < 0) return Error{Code::Unavailable, nghttp2_strerror(id)};
  calls_[id] = &call;
  return id;
}

Result<Done> GrpcChannel::Connection::receive(std::int32_t id, Call& call, const Sink& sink) {
  GrpcMessages messages(call.options.message_max);
  ByteBudget::Share room(large_answers_);
  for (;;) {
    if (!call.arrived.empty()) {
      take(id, call, messages);
      auto more = deliver(call, messages, sink);
      if (!more) return more.error();
      if (!*more) return Done{};
      const std::size_t held = messages.unread();
      if (!room.resize(held > kSmallAnswer ? held - kSmallAnswer : 0))
        return Error{Code::Unavailable, "too many large answers at once"};
      continue;
    }
    if (call.closed) break;
    if (auto woken = wait_for_more(call); !woken) return woken;
  }
  auto end = outcome(call);
  if (end && messages.unread() > 0) return Error{Code::Corrupt, "the last message is cut"};
  return end;
}

/// Waits for bytes of the call, or its end. If the node died, only `silence_max` tells: TCP takes
/// many minutes.
Result<Done> GrpcChannel::Connection::wait_for_more(Call& call) {
  const bool patient = call.options.silence_max == Duration::max();
  Wait wait(executor_);
  call.waiting = &wait;
  const Woken woken =
      wait.until(patient ? Instant::max() : executor_.now() + call.options.silence_max);
  call.waiting = nullptr;
  if (woken == Woken::Deadline && executor_.running()->deadline() > executor_.now())
    return Error{Code::Unavailable, "nothing came for too long"};
  return to_result(woken, "gRPC call");
}

/// Moves the received bytes to `messages` and lets the server send as many again.
void GrpcChannel::Connection::take(std::int32_t id, Call& call, GrpcMessages& messages) {
  const std::string bytes = std::exchange(call.arrived, {});
  messages.feed(bytes);
  if (ended_) return;
  nghttp2_session_consume_connection(session_, bytes.size());
  if (!call.closed) nghttp2_session_consume_stream(session_, id, bytes.size());
  flush();
}

/// False when the sink has had enough.
Result<bool> GrpcChannel::Connection::deliver(Call& call, GrpcMessages& messages,
                                              const Sink& sink) {
  for (;;) {
    auto message = messages.next();
    if (!message) return message.error();
    if (!*message) return true;
    if (call.status.code > 0) return true;  // With an error status, messages no longer count.
    if (!sink(**message)) return false;
  }
}

Result<Done> GrpcChannel::Connection::outcome(const Call& call) const {
  if (call.header_too_long()) return Error{Code::Corrupt, "the answer's header is too long"};
  if (call.status.code == 0) return Done{};
  if (call.status.code > 0) return Error{code_of_grpc(call.status.code), call.status.message};
  if (call.refused) return Error{Code::Unavailable, "the server did not take the call"};
  if (call.http_status >= 0 && call.http_status != 200)
    return Error{code_of_http(call.http_status), "HTTP " + std::to_string(call.http_status)};
  const std::string why = ended_ ? ended_->message : "the call ended without a status";
  if (ended_ && ended_->code == Code::Denied) return *ended_;
  if (call.sent < call.request.size()) return Error{Code::Unavailable, why};
  // grpc-go resets a call at the deadline that we sent, and may be ahead of our own timer.
  if (executor_.running()->deadline() <= executor_.now())
    return Error{Code::TimedOut, "gRPC call: deadline passed"};
  return Error{Code::Lost, why};
}

/// After this no pointer to `call` remains.
void GrpcChannel::Connection::give_up(std::int32_t id, Call& call) {
  calls_.erase(id);
  if (!call.closed) {
    nghttp2_session_set_stream_user_data(session_, id, nullptr);
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  if (!ended_) nghttp2_session_consume_connection(session_, call.arrived.size());
  flush();
}

void GrpcChannel::Connection::close(std::int32_t id, bool refused) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  Call& call = *found->second;
  calls_.erase(found);
  call.closed = true;
  call.refused = refused;
  call.wake();
}

/// The reading fiber: feeds nghttp2 until the connection ends.
void GrpcChannel::Connection::read() {
  std::vector<char> space(kPiece);  // Mostly nothing arrives for minutes, and then little.
  while (!ended_) {
    auto n = stream_->read(space);
    if (!n) return end(n.error());
    if (*n == 0) return end({Code::Unavailable, "the server closed the connection"});
    const auto taken =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(space.data()), *n);
    if (taken < 0)
      return end(
          {Code::Unavailable, std::string("HTTP/2: ") + nghttp2_strerror(static_cast<int>(taken))});
    flush();  // Answers to settings and pings.
    end_if_over();
    if (*n == space.size() && *n < kPieceMax) space.resize(kPieceMax);
  }
}

/// Starts the writing fiber if nghttp2 has something to send.
void GrpcChannel::Connection::flush() {
  if (writing_ || ended_ || !nghttp2_session_want_write(session_)) return;
  writing_ = true;
  writer_ = executor_.spawn([me = shared_from_this()] { me->write(); });
}

/// The writing fiber: ends when there is nothing more to send.
void GrpcChannel::Connection::write() {
  for (std::string frames; !ended_ && !(frames = pull()).empty();) {
    Within limit(executor_, kWriteLimit);
    auto sent = stream_->write(frames);
    if (sent) continue;
    goodbye_ = true;
    Within last_words(executor_, kLastWords);
    if (sent.error().code == Code::Unavailable) (void)reader_->join();
    end(sent.error());
  }
  writing_ = false;
  end_if_over();  // That write may have been our last, with the reason for closing.
}

/// Ends the connection when both sides have said goodbye and no call runs.
void GrpcChannel::Connection::end_if_over() {
  if (!nghttp2_session_want_read(session_) && !nghttp2_session_want_write(session_))
    end({Code::Unavailable, "the HTTP/2 connection ended"});
}

/// Frames, about 64 KB at most.
std::string GrpcChannel::Connection::pull() {
  std::string frames;
  const std::uint8_t* data = nullptr;
  ssize_t n = 0;
  while (frames.size() < (64 << 10) && (n = nghttp2_session_mem_send(session_, &data)) > 0)
    frames.append(view(data, std::size_t(n)));
  return frames;
}

void GrpcChannel::Connection::end(Error why) {
  if (ended_) return;
  ended_ = std::move(why);
  goodbye_ = true;
  stream_->close();
  while (!calls_.empty()) close(calls_.begin()->first, false);
}

void GrpcChannel::Connection::join() {
  (void)reader_->join();
  if (writer_) (void)writer_->join();
}

GrpcChannel::GrpcChannel(Executor& executor, std::unique_ptr<Stream> stream, std::string authority,
                         ByteBudget* large_answers)
    : connection_(std::make_shared<Connection>(executor, std::move(stream), std::move(authority),
                                               large_answers)) {
  connection_->open();
}

GrpcChannel::~GrpcChannel() {
  connection_->end({Code::Cancelled, "connection closed"});
  if (!connection_->executor().running()) return;  // Its fibers see it when the loop next runs.
  Shield whole(connection_->executor());
  connection_->join();
}

bool GrpcChannel::usable() const { return connection_->usable(); }

Result<std::string> GrpcChannel::unary(std::string_view path, std::string_view request,
                                       GrpcStatus* status, const GrpcOptions& options) {
  std::string answer;
  int answers = 0;
  const auto first = [&](std::string_view message) {
    answer = message;
    return ++answers == 1;  // Go on after the first message: the status counts.
  };
  if (auto end = stream(path, request, first, status, options); !end) return end.error();
  if (answers == 1) return answer;
  return Error{Code::Corrupt, std::string(path) +
                                  (answers == 0 ? ": no message" : ": more than one message") +
                                  " in the answer"};
}

Result<Done> GrpcChannel::stream(std::string_view path, std::string_view request, const Sink& sink,
                                 GrpcStatus* status, const GrpcOptions& options) {
  Call call;
  call.options = options;
  call.request = to_grpc_frame(request);
  auto end = connection_->carry(path, call, sink);
  if (status) *status = std::move(call.status);
  if (!end) return Error(end.error()).during(std::string(path));
  return Done{};
}

}  // namespace etcdop::http
