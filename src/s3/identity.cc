#include "s3/identity.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "s3/place.h"
#include "s3/xml.h"
#include "sys/system.h"

namespace etcdop::s3 {
namespace {

constexpr const char* kPrefix = "identity of the Pod: ";

/// Names of the fields in the two kinds of answer.
struct FieldNames {
  const char *key_id, *secret, *session_token, *until;
};
constexpr FieldNames kOfSts{"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"};
constexpr FieldNames kOfNode{"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};

using Fields = std::map<std::string, std::string>;

std::string value(const Fields& fields, const char* name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string() : it->second;
}

Error trouble(Code code, const PodIdentity& identity, const std::string& what) {
  return {code, kPrefix + endpoint_of(identity) + ": " + what};
}

/// The text of each element by its name, at any depth: the elements that we read appear only once.
Fields fields_of_xml(std::string_view body) {
  Fields out;
  XmlReader reader(body);
  std::string name;
  for (;;) {
    auto piece = reader.next();
    if (!piece || piece->kind == XmlReader::Kind::End) return out;
    if (piece->kind == XmlReader::Kind::Open) name = piece->text;
    if (piece->kind == XmlReader::Kind::Text) out[name] += piece->text;
  }
}

Fields fields_of_json(std::string_view body) {
  Fields out;
  boost::system::error_code failed;
  const Json read = json::parse(body, failed);
  if (failed || !read.is_object()) return out;
  for (const auto& [name, member] : read.as_object())
    if (member.is_string()) out[std::string(name)] = std::string(member.as_string());
  return out;
}

std::string advice(const PodIdentity& identity) {
  if (const auto* web = std::get_if<WebIdentity>(&identity))
    return "check that the role " + one_line(web->role) +
           " trusts the cluster's issuer and this ServiceAccount";
  return "check which role the ServiceAccount is associated with";
}

Error to_error(const PodIdentity& identity, int status, const Fields& said) {
  std::string what = std::to_string(status);
  for (const char* name : {"Code", "code", "Message", "message"})
    if (const std::string text = value(said, name); !text.empty()) what += " " + one_line(text);
  if (status == 429 || status / 100 == 5) return trouble(Code::Unavailable, identity, what);
  if (status / 100 == 3)
    return trouble(Code::Denied, identity, what + ": redirects are not followed");
  return trouble(Code::Denied, identity, what + ": " + advice(identity));
}

bool is_one_line(const std::string& text) {
  return std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; });
}

/// Without the final line end that kubectl and people write.
std::string trimmed(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

const std::string& token_path_of(const PodIdentity& identity) {
  return std::visit([](const auto& one) -> const std::string& { return one.token_path; }, identity);
}

/// Lets the next caller in.
struct Leave {
  Semaphore& line;
  ~Leave() { line.release(); }
};

std::string host_of(const PodIdentity& identity) {
  auto place = to_place(
      {.endpoint = endpoint_of(identity), .bucket = "none", .region = "none", .path_style = true});
  return place ? place->authority : "";
}

}  // namespace

http::Request to_request(const PodIdentity& identity, const std::string& token) {
  http::Request out;
  out.headers["accept"] = "*/*";
  if (const auto* node = std::get_if<NodeIdentity>(&identity)) {
    out.target = node->target;
    if (!token.empty()) out.headers["authorization"] = token;
    return out;
  }
  const auto& web = std::get<WebIdentity>(identity);
  out.method = "POST";
  out.target = "/";
  out.headers["content-type"] = "application/x-www-form-urlencoded";
  out.body = query_text({{"Action", "AssumeRoleWithWebIdentity"},
                         {"Version", "2011-06-15"},
                         {"RoleArn", web.role},
                         {"RoleSessionName", web.session},
                         {"WebIdentityToken", token}});
  return out;
}

Result<Lent> to_lent(const PodIdentity& identity, const http::Response& response) {
  const bool web = std::holds_alternative<WebIdentity>(identity);
  const FieldNames& names = web ? kOfSts : kOfNode;
  const Fields fields = web ? fields_of_xml(response.body) : fields_of_json(response.body);
  if (response.status != 200) return to_error(identity, response.status, fields);
  Lent out;
  out.credentials = {.key_id = value(fields, names.key_id),
                     .secret = Secret(value(fields, names.secret)),
                     .session_token = Secret(value(fields, names.session_token))};
  const Credentials& got = out.credentials;
  if (got.key_id.empty() || got.secret.empty() || !is_one_line(got.key_id) ||
      !is_one_line(got.session_token.reveal()))
    return trouble(Code::Corrupt, identity, "the answer has no credentials in it");
  const std::string until = value(fields, names.until);
  if (until.empty()) return out;
  out.until = from_rfc3339(until);
  if (!out.until) return trouble(Code::Corrupt, identity, "the answer's Expiration is no time");
  return out;
}

bool is_of_identity(const Error& error) { return error.message.find(kPrefix) != std::string::npos; }

Borrowed::Borrowed(Executor& executor, const WallClock& wall, PodIdentity identity,
                   http::HttpClient::Dial dial)
    : executor_(executor),
      wall_(wall),
      identity_(std::move(identity)),
      http_(executor, std::move(dial),
            {.host = host_of(identity_), .kept = 0, .body_limit = kAnswerBytesMax}),
      line_(executor, 1) {}

bool Borrowed::fresh() const { return lent_ && (!again_ || wall_.wall_now() < *again_); }

Result<Lent> Borrowed::ask() {
  const Within limit(executor_, kAskLimit);
  std::string token;
  if (const std::string& path = token_path_of(identity_); !path.empty()) {
    auto read = read_file(path);
    if (!read) return trouble(Code::Denied, identity_, "its token: " + read.error().message);
    token = trimmed(std::move(*read));
    if (token.empty() || !is_one_line(token))
      return trouble(Code::Denied, identity_, "its token " + path + " is not one line");
  }
  auto response = http_.send(to_request(identity_, token));
  if (response) return to_lent(identity_, *response);
  // A request for credentials changes nothing: it may be repeated.
  const Code code = response.failed_with(Code::Lost) ? Code::Unavailable : response.error().code;
  return trouble(code, identity_, response.error().message);
}

Result<Done> Borrowed::borrow() {
  auto asked = ask();
  const WallTime now = wall_.wall_now();
  if (asked && asked->until && *asked->until <= now)
    asked = trouble(Code::Denied, identity_,
                    "what it lends has expired already: is this machine's clock wrong?");
  if (!asked) {
    if (!lent_ || !lent_->until || *lent_->until <= now) return asked.error();
    again_ = std::min(*lent_->until, now + kFailedAgain);
    return Done{};
  }
  again_.reset();
  if (asked->until) {
    const std::chrono::seconds life = *asked->until - now;
    again_ = now + (life - std::min(kEarlier, life / 4));
  }
  lent_ = std::move(*asked);
  return Done{};
}

Result<Credentials> Borrowed::get() {
  if (fresh()) return lent_->credentials;
  if (auto entered = to_result(line_.acquire(), "waiting for credentials"); !entered)
    return entered.error();
  const Leave leave{line_};
  if (!fresh())  // Another fiber may have borrowed meanwhile.
    if (auto borrowed = borrow(); !borrowed) return borrowed.error();
  return lent_->credentials;
}

}  // namespace etcdop::s3
