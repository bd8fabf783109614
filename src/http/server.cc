#include "http/server.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <exception>
#include <utility>
#include <variant>

#include "http/last_chunk.h"

namespace etcdop::http {
namespace {

namespace beast = boost::beast::http;
using boost::system::error_code;
constexpr std::size_t kPiece = 4 * 1024;
constexpr Duration kAcceptAgain = std::chrono::seconds(1);
constexpr std::size_t kBodyMax = 1024;  // No client has a reason to send a body.

const char* reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    default: return "Status";
  }
}

std::string to_wire(const Response& response, bool head, bool keep) {
  std::string out =
      "HTTP/1.1 " + std::to_string(response.status) + " " + reason(response.status) + "\r\n";
  for (const auto& [name, value] : response.headers) out += name + ": " + value + "\r\n";
  out += "content-length: " + std::to_string(response.body.size()) + "\r\n";
  if (!keep) out += "connection: close\r\n";
  return out + "\r\n" + (head ? "" : response.body);
}

Response plain(int status, std::string body) {
  return {status, {{"content-type", "text/plain; charset=utf-8"}}, std::move(body)};
}

/// Reads one request from the connection. A Response is the answer to an invalid request; an Error
/// ends the connection.
struct Reader {
  Stream& connection;
  const Server::Options& options;
  boost::beast::flat_buffer buffer;
  bool keep_alive = false;

  Result<std::variant<Request, Response>> next() {
    beast::request_parser<beast::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(options.header_limit));
    parser.body_limit(kBodyMax);
    parser.eager(true);
    std::size_t least = 1;
    while (!parser.is_done()) {
      error_code ec;
      if (buffer.size() >= least) {
        try {
          buffer.consume(parser.put(buffer.data(), ec));
        } catch (const std::exception&) {  // A field is too long for Beast's own table.
          return refusal(431, "the request's header is too large\n");
        }
        if (parser.is_done()) break;
        if (parser.is_header_done() && parser.chunked()) least = kLastChunkBytes;
      } else {
        ec = beast::error::need_more;
      }
      if (ec == beast::error::header_limit)
        return refusal(431, "the request's header is too large\n");
      if (ec && ec != beast::error::need_more) return refusal(400, "this is not an HTTP request\n");
      const auto space = buffer.prepare(kPiece);
      auto n = connection.read({static_cast<char*>(space.data()), space.size()});
      if (!n) return n.error();
      if (*n == 0) return Error{Code::Unavailable, "the client has finished"};
      buffer.commit(*n);
      if (buffer.size() > options.header_limit + kBodyMax + kPiece)
        return refusal(431, "the request is too large\n");
    }
    const auto& message = parser.get();
    keep_alive = message.keep_alive();
    Request request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message)
      request.headers[lower_case(field.name_string())] = std::string(field.value());
    return std::variant<Request, Response>(std::move(request));
  }
  Result<std::variant<Request, Response>> refusal(int status, const char* why) {
    keep_alive = false;
    return std::variant<Request, Response>(plain(status, why));
  }
};

}  // namespace

void Server::serve(std::unique_ptr<Stream> connection) {
  Connection about;
  talk(*connection, about);
}

void Server::talk(Stream& stream, Connection& about) {
  Reader reader{stream, options_,
                boost::beast::flat_buffer(options_.header_limit + kBodyMax + 2 * kPiece)};
  do {
    Within whole_exchange(executor_, options_.idle_limit);
    about.waits = executor_.now();
    auto next = reader.next();
    if (!next) break;
    about.waits.reset();
    const Request* request = std::get_if<Request>(&*next);
    const Response response = request ? answer(*request) : std::get<Response>(*next);
    const bool head = request && request->method == "HEAD";
    about.waits = executor_.now();
    if (!stream.write(to_wire(response, head, reader.keep_alive))) break;
  } while (reader.keep_alive);
  stream.close();
}

void Server::run(const std::function<Result<std::unique_ptr<Stream>>()>& accept) {
  for (;;) {
    auto connection = accept();
    open_.remove_if([](const Connection& one) { return one.fiber->done(); });
    if (connection) {
      if (open_.size() < options_.connections || make_room()) serve_apart(std::move(*connection));
    } else if (!connection.failed_with(Code::Unavailable) ||
               executor_.sleep(kAcceptAgain) != Woken::Ready) {
      break;
    }
  }
  Shield ending(executor_);
  for (const Connection& one : open_) one.fiber->cancel();
  for (const Connection& one : open_) (void)one.fiber->join();
  open_.clear();
}

/// Closes the connection that waits longest for its client. False: there is none.
bool Server::make_room() {
  auto idlest = open_.end();
  for (auto one = open_.begin(); one != open_.end(); ++one)
    if (one->waits && (idlest == open_.end() || *one->waits < *idlest->waits)) idlest = one;
  if (idlest == open_.end()) return false;
  Shield until_it_ends(executor_);
  idlest->fiber->cancel();
  (void)idlest->fiber->join();
  open_.erase(idlest);
  return true;
}

void Server::serve_apart(std::unique_ptr<Stream> stream) {
  Connection& about = open_.emplace_back();
  about.waits = executor_.now();
  auto shared = std::make_shared<std::unique_ptr<Stream>>(std::move(stream));
  about.fiber = executor_.spawn([this, shared, &about] {
    if (auto opened = open(std::move(*shared))) talk(**opened, about);
  });
}

Result<std::unique_ptr<Stream>> Server::open(std::unique_ptr<Stream> connection) {
  if (!options_.open) return connection;
  Within limit(executor_, options_.idle_limit);
  return options_.open(std::move(connection));
}

Response Server::answer(const Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") return plain(405, "only GET and HEAD\n");
  const auto route = routes_.find(request.target.substr(0, request.target.find('?')));
  if (route == routes_.end()) return plain(404, "no such path\n");
  try {
    return route->second(request);
  } catch (const std::exception&) { return plain(500, "internal error\n"); }
}

}  // namespace etcdop::http
