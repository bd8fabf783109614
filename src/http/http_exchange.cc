#include "http/http_exchange.h"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <exception>
#include <optional>
#include <utility>

#include "base/utf8.h"

#include "http/last_chunk.h"

namespace etcdop::http {
namespace {
namespace beast = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kPiece = 16 << 10;
/// Limit of unparsed bytes: a header, or the extensions of a chunk.
constexpr std::size_t kUnparsedMax = 256 << 10;
constexpr int kInterimMax = 8;  // Answers 1xx before the real one.

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || marks.find(c) != marks.npos;
  });
}

bool is_visible(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != 0x7F; });
}

bool is_value(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos;
}

/// Headers that we write ourselves: a second one could make two servers see two requests.
bool is_ours(const std::string& name) {
  const std::string key = lower_case(name);
  return key == "host" || key == "content-length" || key == "transfer-encoding";
}

Error invalid(const std::string& what) { return {Code::Invalid, what}; }

/// One short line, for an error's text.
std::string printable(std::string_view text) {
  std::string out = shortened(text, 100);
  std::replace_if(out.begin(), out.end(), [](char c) { return c < ' ' || c == 0x7F; }, '?');
  return out;
}

class Exchange {
 public:
  Exchange(Executor& executor, Stream& connection, const ExchangeOptions& options)
      : executor_(executor), connection_(connection), options_(options), buffer_(kUnparsedMax) {}

  Result<Response> run(std::string_view request, std::string_view large_body) {
    auto sent = connection_.write(request);
    if (sent && !large_body.empty()) sent = connection_.write(large_body);
    // A server that closes early may have sent the reason: read it, unless our own time is up.
    if (!sent && sent.error().code != Code::Unavailable) return sent.error();
    auto response = receive();
    if (!sent && !response && response.error().code != Code::Denied) return lost(sent.error());
    write_failed_ = !sent;
    return response;
  }

  bool answered() const { return answered_; }
  bool reusable() const {
    return !write_failed_ && !stopped_ && parser_ && parser_->is_done() && parser_->keep_alive() &&
           buffer_.size() == 0;
  }

 private:
  /// The request may have been sent: from here on its outcome is unknown.
  static Error lost(const Error& e) {
    return {e.code == Code::Unavailable ? Code::Lost : e.code, e.message};
  }

  Result<Response> receive() {
    for (int interim = 0; interim <= kInterimMax; ++interim) {
      parser_.emplace();
      parser_->body_limit(boost::none);  // Our own limit counts the kept bytes; a watch has no end.
      parser_->header_limit(static_cast<std::uint32_t>(options_.header_limit));
      if (options_.head) parser_->skip(true);
      while (!parser_->is_header_done())
        if (auto fed = feed(); !fed) return fed.error();
      const int status = static_cast<int>(parser_->get().result_int());
      if (status == 101) return Error{Code::Corrupt, "the answer switches protocols, unasked"};
      if (status >= 200) return receive_body(to_response(status));
    }
    return Error{Code::Corrupt, "too many interim answers"};
  }

  Response to_response(int status) const {
    Response response;
    response.status = status;
    for (const auto& field : parser_->get())
      response.headers[lower_case(field.name_string())] = std::string(field.value());
    return response;
  }

  Result<Response> receive_body(Response response) {
    const bool streamed = options_.sink && response.status / 100 == 2;
    while (!parser_->is_done() && !stopped_) {
      if (auto fed = feed(); !fed) return fed.error();
      if (part_.empty()) continue;
      if (streamed) stopped_ = !(*options_.sink)(part_);
      else if (auto kept = keep(response.body); !kept) return kept.error();
    }
    return response;
  }

  Result<Done> keep(std::string& body) {
    if (!options_.sink && body.size() + part_.size() > options_.body_limit)
      return Error{Code::Corrupt, "the answer's body is over the limit of " +
                                      std::to_string(options_.body_limit) + " bytes"};
    body += part_;
    if (options_.sink && body.size() >= options_.refusal_limit) {
      body.resize(options_.refusal_limit);
      stopped_ = true;
    }
    return Done{};
  }

  /// Feeds the parser; the parsed bytes are then in `part_`.
  Result<Done> feed() {
    part_ = {};
    while (hungry_) {
      auto more = fetch();
      if (!more) return more.error();
      if (!*more) return end_of_data();
      hungry_ = in_chunk_ && buffer_.size() < kLastChunkBytes;
    }
    auto& body = parser_->get().body();
    body = {space_.get(), kPiece, true};
    error_code ec;
    std::size_t used = 0;
    try {
      used = parser_->put(buffer_.data(), ec);
    } catch (const std::exception& e) {  // A field is too long for Beast's own table.
      return Error{Code::Corrupt, std::string("the answer is not HTTP: ") + e.what()};
    }
    buffer_.consume(used);
    if (ec && ec != beast::error::need_more && ec != beast::error::need_buffer)
      return Error{Code::Corrupt, "the answer is not HTTP: " + ec.message()};
    hungry_ = ec == beast::error::need_more || used == 0 || buffer_.size() == 0;
    in_chunk_ = ec == beast::error::need_more && parser_->is_header_done() && parser_->chunked();
    part_ = {space_.get(), kPiece - body.size};
    return Done{};
  }

  /// False at the end of data.
  Result<bool> fetch() {
    if (buffer_.size() + kPiece > buffer_.max_size())
      return Error{Code::Corrupt, "the answer has a line without end"};
    const auto space = buffer_.prepare(kPiece);
    std::optional<Within> silence;
    if (options_.silence_limit) silence.emplace(executor_, *options_.silence_limit);
    auto n = connection_.read({static_cast<char*>(space.data()), space.size()});
    if (!n) return lost(n.error());
    buffer_.commit(*n);
    answered_ |= *n > 0;
    return *n > 0;
  }

  Result<Done> end_of_data() {
    error_code ec;
    if (parser_->is_header_done()) parser_->put_eof(ec);
    if (ec || !parser_->is_done())
      return Error{Code::Lost, "connection closed before the answer's end"};
    return Done{};
  }

  Executor& executor_;
  Stream& connection_;
  const ExchangeOptions& options_;
  std::optional<beast::response_parser<beast::buffer_body>> parser_;
  boost::beast::flat_buffer buffer_;
  const std::unique_ptr<char[]> space_ = std::make_unique<char[]>(kPiece);
  std::string_view part_;
  bool hungry_ = true;     // False: parse the rest of `buffer_` before the next read.
  bool in_chunk_ = false;  // The beginning of the next chunk is incomplete.
  bool answered_ = false, stopped_ = false, write_failed_ = false;
};

Result<Done> add_header(const std::string& name, const std::string& value, std::string& out) {
  if (!is_token(name) || is_ours(name)) return invalid("header name \"" + printable(name) + '"');
  if (!is_value(value))  // The value may be secret.
    return invalid("header " + name + ": its value must have no line break");
  out += name + ": " + value + "\r\n";
  return Done{};
}

}  // namespace

Result<std::string> to_wire(const Request& request, const std::string& host) {
  if (!is_token(request.method)) return invalid("method \"" + printable(request.method) + '"');
  if (!is_visible(request.target) || request.target[0] != '/')
    return invalid("target \"" + printable(request.target) +
                   "\": must begin with / and have no space or control character");
  if (!is_visible(host)) return invalid("host \"" + printable(host) + '"');
  std::string out = request.method + ' ' + request.target + " HTTP/1.1\r\nHost: " + host + "\r\n";
  for (const auto& [name, value] : request.headers)
    if (auto ok = add_header(name, value, out); !ok) return ok.error();
  for (const auto& [name, value] : request.further_headers)
    if (auto ok = add_header(name, value, out); !ok) return ok.error();
  const bool may_have_body = request.method != "GET" && request.method != "HEAD";
  const std::size_t body_bytes = request.body.size() + request.large_body.size();
  if (body_bytes != 0 || may_have_body)
    out += "Content-Length: " + std::to_string(body_bytes) + "\r\n";
  return out + "\r\n" + request.body;
}

Exchanged exchange(Executor& executor, Stream& connection, std::string_view request,
                   std::string_view large_body, const ExchangeOptions& options) {
  Exchange exchange(executor, connection, options);
  auto response = exchange.run(request, large_body);
  // After an invalid answer the connection may no longer speak HTTP; after a 101 it does not.
  const bool reusable = response && exchange.reusable();
  return {std::move(response), exchange.answered(), reusable};
}

}  // namespace etcdop::http
