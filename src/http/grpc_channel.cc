#include "http/grpc_channel.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace etcdop::http {
namespace {

constexpr std::int32_t window = 256 * 1024;  // What may lie unread in one call, and so its memory.
constexpr Duration write_limit =
    std::chrono::seconds(5);  // A server that takes nothing for so long is gone.
constexpr std::uint32_t message_limit = 16 << 20;

struct Call {
  std::string request;  // With its gRPC prefix.
  std::size_t sent = 0;
  std::string arrived;  // Raw DATA, not yet looked at.
  int http_status = 0, grpc_status = -1;
  std::string grpc_message;
  bool closed = false;
  bool refused = false;  // The server promised that it did not act on it.
  Wait* waiting = nullptr;
  void wake() {
    if (waiting) (void)waiting->notify();
  }
};

int number(std::string_view text) {
  int n = -1;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

/// grpc-message is percent-encoded.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 3], byte, 16).ptr == &text[i + 3]) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Code code_of(int grpc_status) {
  switch (grpc_status) {
    case 1: return Code::Cancelled;
    case 3:
    case 9:
    case 11:
    case 12:
      return Code::Invalid;  // Invalid argument, failed precondition, out of range, unimplemented.
    case 4: return Code::TimedOut;
    case 5: return Code::NotFound;
    case 6: return Code::AlreadyExists;
    case 7:
    case 16: return Code::Denied;
    case 10: return Code::Conflict;
    case 15: return Code::Corrupt;
    default: return Code::Unavailable;
  }
}

template <class T>
std::string_view view(const T* p, std::size_t n) {
  return {reinterpret_cast<const char*>(p), n};
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct GrpcChannel::Impl : std::enable_shared_from_this<Impl> {
  Impl(Executor& e, std::unique_ptr<Stream> s, std::string a)
      : executor(e), connection(std::move(s)), authority(std::move(a)) {}
  ~Impl() { nghttp2_session_del(session); }

  Executor& executor;
  std::unique_ptr<Stream> connection;
  std::string authority;
  nghttp2_session* session = nullptr;
  std::set<Call*> calls;
  std::shared_ptr<Fiber> reader;
  bool flushing = false, goodbye = false, over = false;

  Call* call_of(std::int32_t id) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, id));
  }

  void open() {
    nghttp2_session_callbacks* on = nullptr;
    nghttp2_session_callbacks_new(&on);
    nghttp2_session_callbacks_set_on_header_callback(
        on, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
               std::uint8_t, void* self) {
          if (Call* call = static_cast<Impl*>(self)->call_of(frame->hd.stream_id)) {
            const auto key = view(name, name_size), text = view(value, value_size);
            if (key == ":status") call->http_status = number(text);
            else if (key == "grpc-status")
              call->grpc_status = number(text);  // In the trailers, or alone in the headers.
            else if (key == "grpc-message") call->grpc_message = decoded(text);
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        on, [](nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
               std::size_t size, void* self) {
          if (Call* call = static_cast<Impl*>(self)->call_of(id)) {
            call->arrived.append(view(data, size));
            call->wake();
          } else {
            nghttp2_session_consume_connection(session,
                                               size);  // Of a call given up: nobody else will.
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        on, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* self) {
          if (Call* call = static_cast<Impl*>(self)->call_of(id))
            static_cast<Impl*>(self)->close(*call, error == NGHTTP2_REFUSED_STREAM);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        on, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          if (frame->hd.type == NGHTTP2_GOAWAY) static_cast<Impl*>(self)->goodbye = true;
          return 0;
        });
    nghttp2_option* options = nullptr;
    nghttp2_option_new(&options);
    nghttp2_option_set_no_auto_window_update(
        options, 1);  // We open the window as the caller takes bytes out.
    nghttp2_session_client_new2(&session, on, this, options);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(on);
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
                                               {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, 4 * window);
    reader = executor.spawn([self = shared_from_this()] { self->read(); });
  }

  /// The reading fiber: feeds nghttp2 until the connection ends. Answers to settings and pings
  /// leave from here, too.
  void read() {
    const auto space = std::make_unique<char[]>(16 * 1024);
    while (!over) {
      if (!flush() || nghttp2_session_want_read(session) == 0) break;
      auto n = connection->read({space.get(), 16 * 1024});
      if (!n || *n == 0) break;
      if (nghttp2_session_mem_recv(session, reinterpret_cast<const std::uint8_t*>(space.get()),
                                   *n) < 0)
        break;
    }
    end();
  }

  /// Sends what nghttp2 has to send; a fiber that comes while another does it leaves it to that
  /// one.
  bool flush() {
    if (flushing) return true;
    flushing = true;
    bool sent = true;
    while (sent && !over) {
      std::string frames;
      const std::uint8_t* data = nullptr;
      ssize_t n = 0;
      while (frames.size() < 64 * 1024 && (n = nghttp2_session_mem_send(session, &data)) > 0)
        frames.append(view(data, std::size_t(n)));
      if (frames.empty()) break;
      Shield whole_frames(executor,
                          write_limit);  // Half a frame would end every call on this connection.
      sent = bool(connection->write(frames));
    }
    flushing = false;
    if (!sent) end();
    return sent;
  }

  void close(Call& call, bool refused) {
    calls.erase(&call);
    call.closed = true;
    call.refused = refused;
    call.wake();
  }

  void end() {
    if (std::exchange(over, true)) return;
    goodbye = true;
    connection->close();
    while (!calls.empty()) close(**calls.begin(), false);
  }
};

GrpcChannel::GrpcChannel(Executor& executor, std::unique_ptr<Stream> stream, std::string authority)
    : impl_(std::make_shared<Impl>(executor, std::move(stream), std::move(authority))) {
  impl_->open();
}

GrpcChannel::~GrpcChannel() {
  if (impl_->executor.running()) {
    Shield whole(impl_->executor);
    impl_->end();
    (void)impl_->reader->join();
  } else {
    impl_->end();  // The reader sees it when the loop next runs.
  }
}

bool GrpcChannel::usable() const {
  return !impl_->goodbye && nghttp2_session_check_request_allowed(impl_->session);
}

Result<std::string> GrpcChannel::unary(std::string_view path, std::string_view request,
                                       GrpcStatus* status) {
  std::string answer;
  int answers = 0;
  auto end = stream(
      path, request,
      [&](std::string_view message) {
        answer = message;
        ++answers;
        return true;  // The status counts, so go on to the end.
      },
      status);
  if (!end) return end.error();
  if (answers != 1)
    return Error{Code::Corrupt,
                 std::string(path) + ": " + std::to_string(answers) + " messages in answer"};
  return answer;
}

Result<Done> GrpcChannel::stream(std::string_view path, std::string_view request, const Sink& sink,
                                 GrpcStatus* status) {
  if (status) *status = {};
  Impl& self = *impl_;
  const std::string doing(path);
  if (!usable()) return Error{Code::Unavailable, doing + ": connection is going away"};

  Call call;
  const auto size = static_cast<std::uint32_t>(request.size());
  for (const std::uint32_t byte : {0U, size >> 24, size >> 16, size >> 8, size})
    call.request += static_cast<char>(byte & 0xFF);
  call.request += request;
  std::vector<nghttp2_nv> headers = {header(":method", "POST"),
                                     header(":scheme", "https"),
                                     header(":path", path),
                                     header(":authority", self.authority),
                                     header("content-type", "application/grpc"),
                                     header("te", "trailers")};
  nghttp2_data_provider body{};
  body.source.ptr = &call;
  body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* into, std::size_t space,
                          std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& from = *static_cast<Call*>(source->ptr);
    const std::size_t n = std::min(space, from.request.size() - from.sent);
    std::memcpy(into, from.request.data() + from.sent, n);
    from.sent += n;
    if (from.sent == from.request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  };
  const std::int32_t id =
      nghttp2_submit_request(self.session, nullptr, headers.data(), headers.size(), &body, &call);
  if (id < 0) return Error{Code::Unavailable, doing + ": " + nghttp2_strerror(id)};
  self.calls.insert(&call);
  const auto give_up = [&] {  // Nothing may point at `call` once we return.
    if (call.closed) return;
    self.calls.erase(&call);
    nghttp2_session_set_stream_user_data(self.session, id, nullptr);
    nghttp2_session_consume_connection(self.session, call.arrived.size());
    nghttp2_submit_rst_stream(self.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    self.flush();
  };

  self.flush();
  std::string bytes;
  for (;;) {
    if (!call.arrived.empty()) {
      if (!self.over) {
        nghttp2_session_consume_connection(self.session, call.arrived.size());
        if (!call.closed) nghttp2_session_consume_stream(self.session, id, call.arrived.size());
      }
      bytes += std::exchange(call.arrived, {});
      std::size_t at = 0;
      while (bytes.size() - at >= 5) {
        std::uint32_t length = 0;
        for (std::size_t i = 1; i < 5; ++i)
          length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
        if (bytes[at] != 0 || length > message_limit) {
          give_up();
          return Error{Code::Corrupt, doing + ": a message that is compressed or too large"};
        }
        if (bytes.size() - at - 5 < length) break;
        if (!sink(std::string_view(bytes).substr(at + 5, length))) {
          give_up();
          return Done{};
        }
        at += 5 + length;
      }
      bytes.erase(0, at);
      self.flush();
      continue;
    }
    if (call.closed) break;
    Wait more(self.executor);
    call.waiting = &more;
    const Woken woken = more.until();
    call.waiting = nullptr;
    if (woken != Woken::Ready) {
      give_up();
      return to_result(woken, doing.c_str()).error();
    }
  }
  if (status) *status = {call.grpc_status, call.grpc_message};
  if (call.grpc_status == 0) return Done{};
  if (call.grpc_status > 0)
    return Error{code_of(call.grpc_status), doing + ": " + call.grpc_message};
  if (call.refused) return Error{Code::Unavailable, doing + ": the server did not take the call"};
  if (call.http_status != 0 && call.http_status != 200)
    return Error{Code::Unavailable, doing + ": HTTP " + std::to_string(call.http_status)};
  return Error{Code::Lost, doing + ": connection ended before the answer"};
}

}  // namespace etcdop::http
