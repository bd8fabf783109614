#include "http/http_client.h"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <utility>

namespace etcdop::http {
namespace {
namespace beast = boost::beast::http;
using boost::system::error_code;
constexpr std::size_t piece = 16 * 1024;

std::string to_wire(const Request& request, const std::string& host) {
  std::string out = request.method + ' ' + request.target + " HTTP/1.1\r\nHost: " + host + "\r\n";
  for (const auto& [name, value] : request.headers) out += name + ": " + value + "\r\n";
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n" + request.body;
}

}  // namespace

HttpClient::HttpClient(Executor& executor, Dial dial, Options options)
    : dial_(std::move(dial)),
      options_(std::move(options)),
      slots_(executor, options_.connections) {}

Result<Response> HttpClient::send(const Request& request) {
  std::string body;
  bool too_large = false;
  auto response = stream(request, [&](std::string_view part) {
    too_large = body.size() + part.size() > options_.body_limit;
    if (!too_large) body += part;
    return !too_large;
  });
  if (too_large)
    return Error{Code::Invalid,
                 request.target + ": body over " + std::to_string(options_.body_limit) + " bytes"};
  if (response) response->body = std::move(body);
  return response;
}

Result<Response> HttpClient::stream(const Request& request, const Sink& sink) {
  const std::string doing = request.method + ' ' + request.target;
  if (const Woken woken = slots_.acquire(); woken != Woken::Ready)
    return to_result(woken, doing.c_str()).error();
  struct Slot {
    Semaphore& slots;
    ~Slot() { slots.release(); }
  } slot{slots_};
  for (;;) {
    const bool kept = !idle_.empty();
    std::unique_ptr<Stream> connection;
    if (kept) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    } else {
      auto dialed = dial_();
      if (!dialed) return Error(dialed.error()).during(doing);
      connection = std::move(*dialed);
    }
    bool reusable = false, answered = false;
    auto response = exchange(*connection, request, sink, reusable, answered);
    if (reusable) idle_.push_back(std::move(connection));
    // A kept connection may have been closed just before we wrote: a read repeats safely, a write
    // is reported as Lost.
    const bool stale = kept && !answered && response.failed_with(Code::Lost);
    if (stale && (request.method == "GET" || request.method == "HEAD")) continue;
    if (!response) return Error(response.error()).during(doing);
    return response;
  }
}

Result<Response> HttpClient::exchange(Stream& connection, const Request& request, const Sink& sink,
                                      bool& reusable, bool& answered) {
  const auto lost = [](const Error& e) {  // The request may have gone out: from here on nobody
                                          // knows what happened.
    return Error{e.code == Code::Unavailable ? Code::Lost : e.code, e.message};
  };
  if (auto sent = connection.write(to_wire(request, options_.host)); !sent)
    return lost(sent.error());

  beast::response_parser<beast::buffer_body> parser;
  parser.body_limit(boost::none);  // Ours counts what a caller keeps; a watch has no end.
  parser.header_limit(64 * 1024);
  if (request.method == "HEAD") parser.skip(true);
  boost::beast::flat_buffer buffer(1 << 20);
  const auto body_space = std::make_unique<char[]>(piece);
  Response response;
  bool more_bytes = true;  // False when the parser should first go on with what `buffer` holds.
  while (!parser.is_done()) {
    if (more_bytes) {
      const auto space = buffer.prepare(piece);
      auto n = connection.read({static_cast<char*>(space.data()), space.size()});
      if (!n) return lost(n.error());
      buffer.commit(*n);
      if (*n == 0) {
        error_code ec;
        parser.put_eof(ec);
        if (ec || !parser.is_done())
          return Error{Code::Lost, "connection closed before the answer's end"};
        break;
      }
      answered = true;
    }
    auto& body = parser.get().body();
    body.data = body_space.get();
    body.size = piece;
    body.more = true;
    error_code ec;
    buffer.consume(parser.put(buffer.data(), ec));
    const std::string_view part(body_space.get(), piece - body.size);
    more_bytes = ec == beast::error::need_more || (!ec && buffer.size() == 0);
    if (ec && ec != beast::error::need_more && ec != beast::error::need_buffer)
      return Error{Code::Corrupt, ec.message()};
    if (!part.empty() && !sink(part)) {
      parser.get().keep_alive(false);
      break;
    }
  }
  const auto& message = parser.get();
  reusable = parser.is_done() && parser.keep_alive() && buffer.size() == 0;
  response.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    response.headers[name] = std::string(field.value());
  }
  return response;
}

}  // namespace etcdop::http
