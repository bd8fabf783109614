#include "sim/world/doors.h"

#include <algorithm>
#include <utility>

#include "api/v1alpha2/names.h"
#include "etcd/grpc_client.h"
#include "kube/core_types.h"
#include "kube/request.h"
#include "sim/world/checker.h"
#include "sim/world/newer_fields.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
using kube::Call;
using kube::Verb;
namespace v1 = api::v1alpha2;

namespace {

// As kube::Client's defaults.
constexpr Duration kReadLimit = 10s, kWriteLimit = 35s, kSilenceLimit = 90s;
constexpr Duration kHandshakeLimit = 2s, kConnectionKept = 5min;  // As etcd::Pool's.

bool is_write(const etcd::Question& question) {
  // An empty request lists the alarms.
  if (question.path.ends_with("/Alarm")) return !question.message.empty();
  constexpr std::string_view kReads[] = {"/Status",       "/MemberList", "/HashKV",  "/AuthStatus",
                                         "/Authenticate", "/Range",      "/Snapshot"};
  return std::ranges::none_of(kReads,
                              [&](std::string_view read) { return question.path.ends_with(read); });
}

std::string short_path(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// Not an IP.
bool is_name(const std::string& address) { return address.find(".svc") != std::string::npos; }

/// A write, detached from its sender.
struct Delivery {
  const std::string& who;
  const Call& call;
  const Instant sent;
  ApiServer& server;
  Checker& checker;
  Trace& trace;
};

/// A short form of a status patch: " Ready=False/PodNotReady isVoter=true".
std::string said(const Call& call) {
  const json::object* const body = call.body.if_object();
  const Json* const status = body ? body->if_contains("status") : nullptr;
  if (!status || !status->is_object() || call.subresource != "status") return "";
  std::string out;
  for (const auto& [key, value] : status->as_object()) {
    if (key == "conditions" && value.is_array()) {
      for (const Json& c : value.as_array())
        out += " " + std::string(c.at("type").as_string()) + "=" +
               std::string(c.at("status").as_string()) + "/" +
               std::string(c.at("reason").as_string());
    } else if (!value.is_structured()) {
      out += " " + std::string(key) + "=" + json::serialize(value);
    } else if (value.is_array()) {
      out += " " + std::string(key) + "[" + std::to_string(value.as_array().size()) + "]";
    }
  }
  return out;
}

Duration limit_of(const Call& call) { return kube::reads(call.verb) ? kReadLimit : kWriteLimit; }

/// The moment when the write takes effect.
Result<Json> deliver(const Delivery& d) {
  const auto doubt = d.checker.before_write(d.who, d.call, d.sent);
  auto answer = d.server.perform(d.call);
  d.trace.add(d.who, line_of(d.call) + (answer ? said(d.call) : ": " + answer.error().message));
  d.checker.after_write(d.who, d.call, bool(answer), doubt);
  return answer;
}

/// HTTP 500. Source: NewCallWebhookError and the dispatchers in
/// apiserver/pkg/admission/plugin/webhook.
Error webhook_failed() {
  return {Code::Lost,
          "Internal error occurred: failed calling webhook \"policy.example.com\": failed to call "
          "webhook: Post \"https://policy.policy.svc:443/validate?timeout=10s\": context deadline "
          "exceeded"};
}

}  // namespace

Result<Done> Passage::travel(Duration d) {
  if (dead) return killed();
  if (auto there = to_result(caller.sleep(d), "on the way"); !there) return there;
  if (dead) return killed();
  return Done{};
}

bool Passage::strikes(Fault fault, std::uint64_t n) {
  if (!faults.on(fault)) return false;
  return chance.try_emplace(fault, hash_of(to_string(fault), seed)).first->second.one_in(n);
}

ApiDoor::ApiDoor(Passage& passage, ApiServer& server, std::vector<kube::Permission> granted)
    : passage_(passage), server_(server), granted_(std::move(granted)) {
  for (const kube::Permission& p : granted_) {
    WatchLine& line = lines_[p.resource.plural];
    line.silence_limit = kSilenceLimit;
    line.lag = [this]() -> Duration {
      if (!passage_.faults.on(Fault::WatchLag)) return 1ms;
      return passage_.dice.one_in(4) ? passage_.dice.between(0s, 5s) : Duration(5ms);
    };
  }
}

std::vector<std::string> ApiDoor::watched() const {
  std::vector<std::string> out;
  for (const auto& [plural, line] : lines_) out.push_back(plural);
  return out;
}

bool ApiDoor::is_deaf(Instant now) const {
  return std::ranges::any_of(lines_, [&](const auto& one) { return one.second.is_silent(now); });
}

/// Errors on the way to the server.
std::optional<Error> ApiDoor::refused_on_the_way(const Call& call) {
  Passage& p = passage_;
  const bool slow = p.strikes(Fault::ApiSlow, 12);
  if (auto ok = p.travel(slow ? p.dice.between(100ms, 9s) : p.dice.between(500us, 4ms)); !ok)
    return ok.error();
  if (p.world.now() < p.api_down_until) {
    if (p.dice.one_in(2)) return Error{Code::Unavailable, "connection refused"};
    const auto waited = p.travel(limit_of(call));
    return waited ? Error{Code::TimedOut, line_of(call) + ": no answer"} : waited.error();
  }
  if (p.strikes(Fault::ApiRefused, 12))
    return Error{Code::Unavailable, "the server is currently unable to handle the request"};
  return std::nullopt;
}

Result<Json> ApiDoor::call(const Call& call) {
  Passage& p = passage_;
  if (p.dead) return p.killed();
  const Within limit(p.caller, limit_of(call));
  if (!permits(granted_, call)) {
    p.checker.violated("RBAC", p.who + " is not granted: " + line_of(call));
    return Error{Code::Denied, "forbidden: " + line_of(call)};
  }
  // Without a version, the API server answers a read with the newest state, also from its cache.
  // With one it may answer from a cache that lags, which proves nothing.
  if (kube::reads(call.verb) && call.query.contains("resourceVersion"))
    p.checker.violated("stale", p.who + " may be answered from the past: " + line_of(call));
  if (auto error = refused_on_the_way(call)) return *error;
  auto other = p.instead ? p.instead(call) : std::nullopt;
  auto answer = other                    ? std::move(*other)
                : kube::reads(call.verb) ? server_.perform(call)
                : p.old_build            ? write(without_newer(call))
                                         : write(call);
  if (answer && p.old_build) forget_newer(call.resource, *answer);
  if (auto back = p.travel(p.dice.between(500us, 4ms)); !back) return back.error();
  return answer;
}

Result<Json> ApiDoor::write(const Call& call) {
  Passage& p = passage_;
  const std::string what = line_of(call);
  if (call.resource == kube::Lease::resource) return server_.perform(call);
  if (p.before_write && !p.before_write(what)) {
    if (auto back = p.travel(0s); !back) return back.error();
    return Error{Code::Unavailable, "connection refused"};
  }
  if (call.verb == Verb::Patch && p.strikes(Fault::ApiConflict, 20)) {
    const Json* meta =
        call.body.is_object() ? call.body.as_object().if_contains("metadata") : nullptr;
    if (meta && meta->is_object() && meta->as_object().contains("resourceVersion"))
      return Error{Code::Conflict, "the object has been modified"};
  }
  if (p.strikes(Fault::ApiLate, 40)) {
    const Duration late = p.dice.between(1s, 30s);
    // Detached: its sender may be dead by then.
    p.world.spawn([call, late, what, sent = p.world.now(), who = p.who, &world = p.world,
                   &faults = p.faults, &trace = p.trace, &checker = p.checker, &server = server_] {
      if (world.sleep(late) != Woken::Ready || faults.healed()) return;
      trace.add(who, what + " arrives late");
      (void)deliver({who, call, sent, server, checker, trace});
    });
    if (auto back = p.travel(kWriteLimit); !back) return back.error();
    return Error{Code::TimedOut, what + ": no answer"};
  }
  ++p.writes;
  if (const auto waits = p.webhook ? p.webhook(call) : std::nullopt) {
    p.trace.add(p.who, what + " waits for a webhook");
    if (auto back = p.travel(*waits); !back) return back.error();
    return webhook_failed();
  }
  if (const Duration waits = p.let_in_after ? p.let_in_after(call) : Duration(0);
      waits > Duration(0)) {
    p.trace.add(p.who, what + " waits for a webhook that is slow");
    if (auto back = p.travel(waits); !back) return back.error();
  }
  auto answer = deliver({p.who, call, p.world.now(), server_, p.checker, p.trace});
  if (p.after_write && !p.after_write(what)) {
    if (auto back = p.travel(0s); !back) return back.error();
    return Error{Code::Lost, what + ": connection cut"};
  }
  if (p.strikes(Fault::ApiLost, 16)) return Error{Code::Lost, what + ": connection cut"};
  return answer;
}

Result<Done> ApiDoor::watch(const Call& call, const std::function<bool(kube::WatchEvent)>& each) {
  Passage& p = passage_;
  if (p.dead) return p.killed();
  if (!permits(granted_, call)) p.checker.violated("RBAC", "not granted: " + line_of(call));
  if (auto error = refused_on_the_way(call)) return *error;
  if (p.instead)
    if (const auto other = p.instead(call); other && !*other) return other->error();
  Call with_bookmarks = call;
  with_bookmarks.query["allowWatchBookmarks"] = "true";
  with_bookmarks.query["timeoutSeconds"] = std::to_string(300 + p.dice.below(300));
  auto ended = server_.watch(
      p.caller, with_bookmarks,
      [&](kube::WatchEvent event) {
        if (p.old_build) forget_newer(call.resource, event.object);
        return !p.dead && each(std::move(event));
      },
      lines_[call.resource.plural]);
  if (p.dead) return p.killed();
  return ended;
}

// --- etcd ----------------------------------------------------------------------------------------

/// A connection to the process that has that address now.
class EtcdDoor::Line final : public etcd::Connection {
 public:
  Line(EtcdDoor& door, const etcd::Endpoint& to)
      : door_(door), address_(to.address), name_(name_shown(door, to.address)) {}

  Result<std::string> unary(const etcd::Question& question, http::GrpcStatus& status) override {
    Passage& p = door_.passage_;
    const std::string_view path = question.path;
    const std::string what = short_path(path) + " at " + address_;
    const bool writes = is_write(question);
    if (auto there = go(path, what, writes); !there) return there.error();
    if (writes) ++p.writes;
    if (writes) p.checker.before_change(p.who, what, address_);
    auto answer = door_.net_.unary(p.caller, address_, question, status, name_);
    if (writes) {
      p.trace.add(p.who, what + (answer ? "" : ": " + answer.error().message));
      p.checker.after_change(p.who, what);
    }
    if (answer) p.checker.answered(address_, path);
    if (auto back = come(what, writes, status); !back) return back.error();
    return answer;
  }

  /// The answer may be cut after its first piece.
  Result<Done> stream(const etcd::Question& question, const http::GrpcChannel::Sink& sink,
                      http::GrpcStatus& status) override {
    Passage& p = door_.passage_;
    const std::string what = short_path(question.path) + " at " + address_;
    if (auto there = go(question.path, what, false); !there) return there.error();
    const bool cut = p.strikes(Fault::EtcdLost, 16);
    int pieces = 0;
    auto ended = door_.net_.stream(
        p.caller, address_, question,
        [&](std::string_view piece) {
          return !p.dead && (!cut || ++pieces == 1) && sink(piece) && !p.dead;
        },
        status);
    p.trace.add(p.who, what + (ended ? "" : ": " + ended.error().message));
    if (cut) {
      status = {};
      return Error{Code::Lost, what + ": connection cut"};
    }
    if (auto back = come(what, false, status); !back) return back.error();
    return ended;
  }

 private:
  /// The name in our certificate, if etcd checks client certificates.
  static std::string name_shown(EtcdDoor& door, const std::string& address) {
    return door.nodes_.knows_clients_by_certificate(address) ? door.connected_[address].name : "";
  }
  bool is_told(bool writes) const { return writes || door_.passage_.tells_reads; }

  /// From the process to the member; an error: the call does not arrive.
  Result<Done> go(std::string_view path, const std::string& what, bool writes) {
    Passage& p = door_.passage_;
    ++door_.calls_;
    if (p.caller.running()->deadline() == Instant::max())
      p.checker.violated("deadline", p.who + " sends " + what + " without one");
    const bool slow = p.strikes(Fault::EtcdSlow, 12);
    if (auto ok = p.travel(slow ? p.dice.between(100ms, 3s) : p.dice.between(300us, 2ms)); !ok)
      return ok.error();
    if (door_.hangs(address_, short_path(path)))
      if (auto ok = p.travel(1h); !ok) return ok.error();
    if (is_told(writes) && p.before_write && !p.before_write(what)) {
      if (auto back = p.travel(0s); !back) return back.error();
      return Error{Code::Unavailable, what + ": connection refused"};
    }
    return p.dead ? Result<Done>(p.killed()) : Result<Done>(Done{});
  }

  /// The way back.
  Result<Done> come(const std::string& what, bool writes, http::GrpcStatus& status) {
    Passage& p = door_.passage_;
    if (p.dead) return p.killed();
    if (is_told(writes) && p.after_write && !p.after_write(what)) {
      status = {};
      if (auto back = p.travel(0s); !back) return back.error();
      return Error{Code::Lost, what + ": connection cut"};
    }
    if (p.strikes(Fault::EtcdLost, 16)) {
      status = {};
      return Error{Code::Lost, what + ": connection cut"};
    }
    return p.travel(p.dice.between(300us, 2ms));
  }

  EtcdDoor& door_;
  std::string address_, name_;
};

class EtcdDoor::Link final : public etcd::Connections {
 public:
  Link(EtcdDoor& door, etcd::Endpoint to) : door_(door), to_(std::move(to)) {}
  Result<std::shared_ptr<etcd::Connection>> connection() override {
    if (door_.passage_.dead) return door_.passage_.killed();
    etcd::Endpoint to = to_;
    if (is_name(to.address)) {
      const auto found = door_.nodes_.resolve(to.address);
      if (!found) return Error{Code::Unavailable, to.address + ": no such host"};
      to.address = *found;
    }
    if (auto connected = door_.connect(to); !connected) return connected.error();
    return std::shared_ptr<etcd::Connection>(std::make_shared<Line>(door_, to));
  }

 private:
  EtcdDoor& door_;
  const etcd::Endpoint to_;
};

EtcdDoor::EtcdDoor(Passage& passage, EtcdNet& net, Nodes& nodes)
    : passage_(passage), net_(net), nodes_(nodes) {}

std::shared_ptr<etcd::Client> EtcdDoor::at(const etcd::Endpoint& endpoint) {
  return std::make_shared<etcd::GrpcClient>(passage_.caller,
                                            std::make_shared<Link>(*this, endpoint), endpoint);
}

bool EtcdDoor::hangs(const std::string& address, const std::string& call) {
  return (holes_[address] && !passage_.faults.healed()) || hung_.contains({address, call});
}

/// Within 2 s, as in src/etcd.
Result<CertificateFacts> EtcdDoor::shake_hands(const etcd::Endpoint& to, std::int32_t port) {
  const Within limit(passage_.caller, kHandshakeLimit);
  const bool silent = hangs(to.address, kHandshake) || net_.hangs(to.address);
  if (auto there = passage_.travel(silent ? Duration(1h) : Duration(1ms)); !there)
    return there.error();
  return nodes_.shake_hands(to.address, port, to.server_name, to.tls);
}

Result<CertificateFacts> EtcdDoor::handshake(const etcd::Endpoint& to, std::int32_t port) {
  if (!to.tls) return Error{Code::Invalid, to.server_name + " does not speak TLS"};
  return shake_hands(to, port);
}

/// Within 2 s, as in src/etcd.
Result<bool> EtcdDoor::receives_snapshot(const etcd::Endpoint& to) {
  const Within limit(passage_.caller, kHandshakeLimit);
  const bool silent = hangs(to.address, "metrics") || net_.hangs(to.address);
  if (auto there = passage_.travel(silent ? Duration(1h) : Duration(1ms)); !there)
    return there.error();
  return net_.receives_snapshot(to.address);
}

/// Nothing to do if both sides speak plaintext.
Result<Done> EtcdDoor::connect(const etcd::Endpoint& to) {
  if (!to.tls && !nodes_.has_tls(to.address)) return Done{};
  const auto process = net_.process_at(to.address);
  const Instant now = passage_.world.now();
  Connected& known = connected_[to.address];
  const bool kept = process && known.process == *process && known.with == to.tls &&
                    now - known.used < kConnectionKept;
  if (!kept) {
    auto leaf = shake_hands(to, v1::kClientPort);  // Suspends: the entry stays.
    if (!leaf) {
      Error error = Error(leaf.error()).during("dial");
      if (error.code != Code::Denied && error.code != Code::Cancelled)
        error.code = Code::Unavailable;
      return error;
    }
    known.process = net_.process_at(to.address).value_or(0);
    known.with = to.tls;
    auto ours = read_certificate(to.tls ? to.tls->certificate : "");
    known.name = ours ? ours->common_name : "";
  }
  known.used = passage_.world.now();
  return Done{};
}

void EtcdDoor::black_hole(const std::string& address, bool on) { holes_[address] = on; }

bool EtcdDoor::is_deaf() const {
  return !hung_.empty() || std::ranges::any_of(holes_, [](const auto& one) { return one.second; });
}

void EtcdDoor::hang(const std::string& address, const std::string& call, bool on) {
  if (on) hung_.insert({address, call});
  else hung_.erase({address, call});
}

// --- the object store ----------------------------------------------------------------------------

StoreDoor::StoreDoor(Passage& passage, std::unique_ptr<s3::Store> store)
    : passage_(passage), store_(std::move(store)) {}

template <class Call>
auto StoreDoor::through(const std::string& what, const Call& call) -> decltype(call()) {
  Passage& p = passage_;
  if (p.dead) return p.killed();
  if (p.before_write && !p.before_write(what)) {
    if (auto back = p.travel(0s); !back) return back.error();
    return Error{Code::Unavailable, what + ": connection refused"};
  }
  auto answer = call();
  p.trace.add(p.who, what + (answer ? "" : ": " + answer.error().message));
  if (p.dead) return p.killed();
  if (p.after_write && !p.after_write(what)) {
    if (auto back = p.travel(0s); !back) return back.error();
    return Error{Code::Lost, what + ": connection cut"};
  }
  return answer;
}

Result<s3::Object> StoreDoor::head(const std::string& key) {
  return through("HEAD " + key, [&] { return store_->head(key); });
}

Result<s3::Object> StoreDoor::get(const std::string& key, const s3::GetOptions& options,
                                  const Sink& sink) {
  const auto alive = [&](std::string_view bytes) { return !passage_.dead && sink(bytes); };
  return through("GET " + key, [&] { return store_->get(key, options, alive); });
}

Result<s3::Tag> StoreDoor::put(const std::string& key, std::string_view bytes,
                               const s3::PutOptions& options) {
  return through("PutObject " + key, [&] { return store_->put(key, bytes, options); });
}

Result<s3::Upload> StoreDoor::create_multipart(const std::string& key,
                                               const s3::Metadata& metadata) {
  return through("CreateMultipartUpload " + key,
                 [&] { return store_->create_multipart(key, metadata); });
}

Result<s3::Tag> StoreDoor::upload_part(const s3::Upload& upload, int number,
                                       const s3::Payload& payload) {
  return through("UploadPart " + std::to_string(number) + " " + upload.key,
                 [&] { return store_->upload_part(upload, number, payload); });
}

Result<s3::Tag> StoreDoor::complete(const s3::Upload& upload, const std::vector<s3::Part>& parts,
                                    bool only_if_absent) {
  return through("CompleteMultipartUpload " + upload.key,
                 [&] { return store_->complete(upload, parts, only_if_absent); });
}

Result<Done> StoreDoor::abort(const s3::Upload& upload) {
  return through("AbortMultipartUpload " + upload.key, [&] { return store_->abort(upload); });
}

Result<s3::Page> StoreDoor::list(const s3::ListOptions& options) {
  return through("ListObjectsV2 " + options.prefix, [&] { return store_->list(options); });
}

Result<std::vector<s3::Upload>> StoreDoor::uploads(const std::string& prefix) {
  return through("ListMultipartUploads " + prefix, [&] { return store_->uploads(prefix); });
}

Result<Done> StoreDoor::remove(const std::string& key) {
  return through("DeleteObject " + key, [&] { return store_->remove(key); });
}

}  // namespace etcdop::sim
