#include "test/support/grpc_server.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

namespace etcdop::testing {
namespace {

struct ServedCall {
  std::string path, arrived, answer;
  std::string status;
};

template <class T>
std::string_view view(const T* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Executor& executor, std::shared_ptr<Stream> stream, GrpcHandler handler)
      : executor_(executor), stream_(std::move(stream)), handler_(std::move(handler)) {}
  ~Session() { nghttp2_session_del(session_); }

  void run() {
    open();
    char space[4096];
    while (flush()) {
      auto n = stream_->read(space);
      if (!n || *n == 0) break;
      if (nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(space), *n) < 0)
        break;
    }
    hang_up();
  }

 private:
  static Session& self(void* p) { return *static_cast<Session*>(p); }

  void open() {
    nghttp2_session_callbacks* on = nullptr;
    nghttp2_session_callbacks_new(&on);
    nghttp2_session_callbacks_set_on_header_callback(
        on, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
               std::uint8_t, void* p) {
          if (view(name, name_size) == ":path")
            self(p).calls_[frame->hd.stream_id].path = view(value, value_size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        on, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
               std::size_t size, void* p) {
          self(p).calls_[id].arrived += view(data, size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        on, [](nghttp2_session*, const nghttp2_frame* frame, void* p) {
          if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
              (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
            self(p).start(frame->hd.stream_id);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        on, [](nghttp2_session*, std::int32_t id, std::uint32_t, void* p) {
          self(p).calls_.erase(id);
          return 0;
        });
    nghttp2_session_server_new(&session_, on, this);
    nghttp2_session_callbacks_del(on);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }

  void start(std::int32_t id) {
    (void)executor_.spawn([me = shared_from_this(), id] {
      const ServedCall& call = me->calls_[id];
      const std::string path = call.path;
      const std::string message =
          call.arrived.substr(std::min<std::size_t>(5, call.arrived.size()));
      const GrpcReply reply = me->handler_(path, message);
      if (reply.stays_silent || me->over_) return;
      if (reply.hangs_up) return me->hang_up();
      const auto known = me->calls_.find(id);
      if (known == me->calls_.end()) return;  // The client cancelled it.
      me->answer(id, known->second, reply);
      (void)me->flush();
    });
  }

  void answer(std::int32_t id, ServedCall& call, const GrpcReply& reply) {
    call.status = std::to_string(reply.status);
    const nghttp2_nv head[] = {field(":status", "200"), field("content-type", "application/grpc"),
                               field("grpc-status", call.status),
                               field("grpc-message", reply.text)};
    if (reply.status != 0) {  // Trailers only.
      nghttp2_submit_response(session_, id, head, 4, nullptr);
      return;
    }
    const auto size = static_cast<std::uint32_t>(reply.text.size());
    for (const std::uint32_t byte : {0U, size >> 24, size >> 16, size >> 8, size})
      call.answer += static_cast<char>(byte & 0xFF);
    call.answer += reply.text;
    nghttp2_data_provider body{};
    body.source.ptr = &call;
    body.read_callback = [](nghttp2_session* session, std::int32_t stream, std::uint8_t* into,
                            std::size_t space, std::uint32_t* flags, nghttp2_data_source* source,
                            void*) {
      auto& from = *static_cast<ServedCall*>(source->ptr);
      const std::size_t n = std::min(space, from.answer.size());
      std::memcpy(into, from.answer.data(), n);
      from.answer.erase(0, n);
      if (from.answer.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const nghttp2_nv trailer[] = {field("grpc-status", "0")};
        nghttp2_submit_trailer(session, stream, trailer, 1);
      }
      return static_cast<ssize_t>(n);
    };
    nghttp2_submit_response(session_, id, head, 2, &body);
  }

  bool flush() {
    while (!flushing_ && !over_) {
      std::string frames;
      const std::uint8_t* data = nullptr;
      ssize_t n = 0;
      while ((n = nghttp2_session_mem_send(session_, &data)) > 0)
        frames.append(view(data, std::size_t(n)));
      if (frames.empty()) break;
      flushing_ = true;
      const bool sent = bool(stream_->write(frames));
      flushing_ = false;
      if (!sent) hang_up();
    }
    return !over_;
  }

  void hang_up() {
    over_ = true;
    stream_->close();
  }

  Executor& executor_;
  std::shared_ptr<Stream> stream_;
  GrpcHandler handler_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, ServedCall> calls_;
  bool flushing_ = false, over_ = false;
};

}  // namespace

void serve_grpc(Executor& executor, std::shared_ptr<Stream> stream, GrpcHandler handler) {
  auto session = std::make_shared<Session>(executor, std::move(stream), std::move(handler));
  (void)executor.spawn([session] { session->run(); });
}

}  // namespace etcdop::testing
