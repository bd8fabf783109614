#include "sys/asio_loop.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace etcdop {
namespace {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Instant real_now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

/// What an operation's handler writes to, on the waiting fiber's stack.
struct Completion {
  Wait* wait = nullptr;
  bool finished = false;
  error_code ec;
  std::size_t bytes = 0;
  void finish(const error_code& e, std::size_t n) {
    finished = true;
    ec = e;
    bytes = n;
    (void)wait->notify();
  }
  /// As Asio wants it. (Not std::ref: Asio 1.26 finds that ambiguous.)
  auto handler() {
    return [this](const error_code& e, std::size_t n) { finish(e, n); };
  }
};

/// Starts an operation and waits for its end. If deadline or cancellation come first, `stop` must
/// make it end soon, and we wait for that too: until then it owns buffers on our stack.
template <class Start, class Stop>
Result<std::size_t> await(Executor& loop, const char* doing, Start start, Stop stop) {
  Completion done;
  Wait first(loop);
  done.wait = &first;
  start(done);
  const Woken woken = first.until();
  if (!done.finished) {
    stop();
    Shield finish(loop);
    Wait second(loop);
    done.wait = &second;
    while (!done.finished) (void)second.until();
    return to_result(woken, doing).error();
  }
  if (done.ec == asio::error::eof) return std::size_t{0};
  if (done.ec) return Error{Code::Unavailable, std::string(doing) + ": " + done.ec.message()};
  return done.bytes;
}

class TcpStream final : public Stream {
 public:
  TcpStream(Executor& loop, tcp::socket socket) : loop_(loop), socket_(std::move(socket)) {}
  Result<std::size_t> read(std::span<char> into) override {
    return await(
        loop_, "read",
        [&](Completion& done) {
          socket_.async_read_some(asio::buffer(into.data(), into.size()), done.handler());
        },
        [&] { close(); });
  }
  Result<Done> write(std::string_view bytes) override {
    auto sent = await(
        loop_, "write",
        [&](Completion& done) {
          asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), done.handler());
        },
        [&] { close(); });
    if (!sent) return sent.error();
    return Done{};
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  Executor& loop_;
  tcp::socket socket_;
};

}  // namespace

struct AsioLoop::Impl {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> stay = asio::make_work_guard(io);
  asio::steady_timer timer{io};
};

AsioLoop::AsioLoop() : impl_(std::make_unique<Impl>()), now_(real_now()) {}
AsioLoop::~AsioLoop() = default;

void AsioLoop::run() {
  Instant armed = Instant::max();
  while (alive() > 0) {
    now_ = real_now();
    for (int turn = 0; turn < 1000 && next_due() <= now_; ++turn)
      step();  // Then a look at I/O, lest it starve.
    if (alive() == 0) break;
    if (next_due() <= now_) {
      impl_->io.poll();
      continue;
    }
    if (next_due() < armed ||
        armed <= now_) {  // A timer that fires too early costs one turn; a re-arm costs more.
      armed = next_due();
      if (armed != Instant::max()) {
        impl_->timer.expires_at(std::chrono::steady_clock::time_point(armed.time_since_epoch()));
        impl_->timer.async_wait([](const error_code&) {});
      }
    }
    impl_->io.run_one();
    impl_->io.poll();
  }
}

Result<std::unique_ptr<Stream>> AsioLoop::connect(const std::string& host,
                                                  const std::string& port) {
  const std::string doing = "connect to " + host + ":" + port;
  tcp::resolver resolver(impl_->io);
  tcp::resolver::results_type addresses;
  auto found = await(
      *this, doing.c_str(),
      [&](Completion& done) {
        resolver.async_resolve(host, port,
                               [&](const error_code& ec, tcp::resolver::results_type results) {
                                 addresses = std::move(results);
                                 done.finish(ec, 0);
                               });
      },
      [&] { resolver.cancel(); });
  if (!found) return found.error();
  tcp::socket socket(impl_->io);
  auto connected = await(
      *this, doing.c_str(),
      [&](Completion& done) {
        asio::async_connect(socket, addresses, [&](const error_code& ec, const tcp::endpoint&) {
          done.finish(ec, 0);
        });
      },
      [&] {
        error_code ignored;
        socket.close(ignored);
      });
  if (!connected) return connected.error();
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  return std::unique_ptr<Stream>(std::make_unique<TcpStream>(*this, std::move(socket)));
}

}  // namespace etcdop
