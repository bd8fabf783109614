#include "sys/asio_loop.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace etcdop {
namespace {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Instant real_now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

/// Written by an operation's handler; lives on the waiting fiber's stack.
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
  /// The handler in the form that Asio wants. (Not std::ref: Asio 1.26 finds that ambiguous.)
  auto handler() {
    return [this](const error_code& e, std::size_t n) { finish(e, n); };
  }
};

/// Starts an operation and waits for its end. If the deadline or cancellation comes first, `stop`
/// must make the operation end soon. We wait for that end too: until then the operation owns
/// buffers on our stack.
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

class TcpListener final : public Listener {
 public:
  TcpListener(Executor& loop, tcp::acceptor acceptor)
      : loop_(loop), acceptor_(std::move(acceptor)) {}
  Result<std::unique_ptr<Stream>> accept() override {
    tcp::socket socket(acceptor_.get_executor());
    auto accepted = await(
        loop_, "accept",
        [&](Completion& done) {
          acceptor_.async_accept(socket, [&](const error_code& ec) { done.finish(ec, 0); });
        },
        [&] {
          error_code ignored;
          acceptor_.cancel(ignored);
        });
    if (!accepted) return accepted.error();
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    return std::unique_ptr<Stream>(std::make_unique<TcpStream>(loop_, std::move(socket)));
  }
  std::uint16_t local_port() const override {
    error_code ec;
    const auto endpoint = acceptor_.local_endpoint(ec);
    return ec ? std::uint16_t{0} : endpoint.port();
  }

 private:
  Executor& loop_;
  tcp::acceptor acceptor_;
};

/// The endpoint, if `host` and `port` are numbers.
std::optional<tcp::endpoint> numeric(const std::string& host, const std::string& port) {
  error_code no_address;
  const auto address = asio::ip::make_address(host, no_address);
  std::uint16_t number = 0;
  const char* const end = port.data() + port.size();
  const auto [stopped, bad] = std::from_chars(port.data(), end, number);
  if (no_address || bad != std::errc() || stopped != end) return std::nullopt;
  return tcp::endpoint(address, number);
}

/// Asio has one thread that resolves names, so a numeric address must not wait for it.
Result<std::vector<tcp::endpoint>> addresses_of(Executor& loop, asio::io_context& io,
                                                const std::string& host, const std::string& port,
                                                const std::string& doing) {
  if (const auto one = numeric(host, port)) return std::vector{*one};
  tcp::resolver resolver(io);
  std::vector<tcp::endpoint> out;
  auto found = await(
      loop, doing.c_str(),
      [&](Completion& done) {
        resolver.async_resolve(host, port,
                               [&](const error_code& ec, const tcp::resolver::results_type& all) {
                                 for (const auto& one : all) out.push_back(one.endpoint());
                                 done.finish(ec, 0);
                               });
      },
      [&] { resolver.cancel(); });
  if (!found) return found.error();
  return out;
}

using V4 = asio::ip::address_v4;
using V6 = asio::ip::address_v6;

/// The IPv4 addresses that a packet to this address may be translated to: mapped and compatible
/// (RFC 4291), 6to4 (RFC 3056), NAT64 (RFC 6052), also with a local prefix (RFC 8215). The length
/// of a local prefix is not known: where a shorter one would end, a longer one has zeros, and the
/// network 0.0.0.0/8 is no destination.
std::vector<V4> embedded_in(const V6& address) {
  const auto b = address.to_bytes();
  const auto v4 = [&](std::size_t i, std::size_t j, std::size_t k, std::size_t l) {
    return V4(V4::bytes_type{b[i], b[j], b[k], b[l]});
  };
  const auto begins = [&](std::initializer_list<unsigned char> with) {
    return std::equal(with.begin(), with.end(), b.begin());
  };
  std::vector<V4> out;
  const bool compatible = begins({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  if (begins({0x20, 0x02})) out.push_back(v4(2, 3, 4, 5));
  if (begins({0, 0x64, 0xff, 0x9b, 0, 1})) {
    out = {v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12), v4(12, 13, 14, 15)};
    const auto is_none = [](const V4& reading) { return reading.to_bytes()[0] == 0; };
    if (!std::ranges::all_of(out, is_none)) std::erase_if(out, is_none);
  } else if (compatible || address.is_v4_mapped() || begins({0, 0x64, 0xff, 0x9b})) {
    out.push_back(v4(12, 13, 14, 15));
  }
  return out;
}

bool is_near(const V4& address) {
  const auto bytes = address.to_bytes();
  return bytes[0] == 127 || bytes[0] == 0 || (bytes[0] == 169 && bytes[1] == 254) ||
         address == V4({100, 100, 100, 200}) ||  // Alibaba Cloud's metadata.
         address == V4({168, 63, 129, 16});      // Azure's.
}

/// This machine, its link, the unspecified address, or a cloud's metadata, which gives credentials
/// of the node.
bool is_near(const asio::ip::address& address) {
  if (address.is_v4()) return is_near(address.to_v4());
  const V6 v6 = address.to_v6();
  static const V6 kAws = asio::ip::make_address_v6("fd00:ec2::254");
  static const V6 kGoogle = asio::ip::make_address_v6("fd20:ce::254");
  return v6.is_loopback() || v6.is_unspecified() || v6.is_link_local() || v6 == kAws ||
         v6 == kGoogle ||
         std::ranges::any_of(embedded_in(v6), [](const V4& inner) { return is_near(inner); });
}

}  // namespace

struct AsioLoop::Io {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> stay = asio::make_work_guard(io);
  asio::steady_timer timer{io};
  asio::signal_set signals{io};
};

AsioLoop::AsioLoop() : io_(std::make_unique<Io>()), now_(real_now()) {}
AsioLoop::~AsioLoop() = default;

void AsioLoop::run() {
  Instant armed = Instant::max();
  while (alive() > 0) {
    now_ = real_now();
    for (int turn = 0; turn < 1000 && next_due() <= now_; ++turn)
      step();  // Then check for I/O, so that it does not starve.
    if (alive() == 0) break;
    if (next_due() <= now_) {
      io_->io.poll();
      continue;
    }
    if (next_due() < armed ||
        armed <= now_) {  // A timer that fires too early costs one turn; a re-arm costs more.
      armed = next_due();
      if (armed != Instant::max()) {
        io_->timer.expires_at(std::chrono::steady_clock::time_point(armed.time_since_epoch()));
        io_->timer.async_wait([](const error_code&) {});
      }
    }
    io_->io.run_one();
    io_->io.poll();
  }
}

Result<std::unique_ptr<Stream>> AsioLoop::connect(const std::string& host, const std::string& port,
                                                  Reach reach) {
  const std::string doing = "connect to " + host + ":" + port;
  auto addresses = addresses_of(*this, io_->io, host, port, doing);
  if (!addresses) return addresses.error();
  if (reach == Reach::Beyond)
    std::erase_if(*addresses, [](const tcp::endpoint& one) { return is_near(one.address()); });
  if (addresses->empty())
    return Error{Code::Invalid, doing + ": that is this machine, or its link"};
  tcp::socket socket(io_->io);
  auto connected = await(
      *this, doing.c_str(),
      [&](Completion& done) {
        asio::async_connect(socket, *addresses, [&](const error_code& ec, const tcp::endpoint&) {
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

Result<std::unique_ptr<Listener>> AsioLoop::listen(const std::string& address, std::uint16_t port) {
  const std::string doing = "listen on " + address + ":" + std::to_string(port);
  error_code ec;
  const auto ip = address.empty() ? asio::ip::address(asio::ip::address_v6::any())
                                  : asio::ip::make_address(address, ec);
  if (ec) return Error{Code::Invalid, doing + ": " + ec.message()};
  tcp::endpoint endpoint(ip, port);
  tcp::acceptor acceptor(io_->io);
  acceptor.open(endpoint.protocol(), ec);
  if (ec && address.empty()) {  // A machine without IPv6.
    endpoint = {asio::ip::address_v4::any(), port};
    acceptor.open(endpoint.protocol(), ec);
  } else if (!ec && address.empty()) {
    acceptor.set_option(asio::ip::v6_only(false), ec);
  }
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) return Error{Code::Unavailable, doing + ": " + ec.message()};
  return std::unique_ptr<Listener>(std::make_unique<TcpListener>(*this, std::move(acceptor)));
}

Woken AsioLoop::wait_for_termination() {
  error_code ec;
  io_->signals.clear(ec);
  for (const int number : {SIGTERM, SIGINT}) io_->signals.add(number, ec);
  Woken how = Woken::Ready;
  auto asked = await(
      *this, "signal",
      [&](Completion& done) {
        io_->signals.async_wait([&](const error_code& e, int) { done.finish(e, 0); });
      },
      [&] { io_->signals.cancel(ec); });
  if (asked.failed_with(Code::Cancelled)) how = Woken::Cancelled;
  if (asked.failed_with(Code::TimedOut)) how = Woken::Deadline;
  return how;
}

}  // namespace etcdop
