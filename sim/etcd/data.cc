// Requests about the database: keys, maintenance, users.
// Source: etcd's api/v3rpc/{key,quota,maintenance}.go and server/etcdserver/apply.
#include <charconv>

#include "sim/etcd/request.h"

namespace etcdop::sim {
namespace {

namespace pb = etcdserverpb;
using namespace std::chrono_literals;
constexpr std::string_view kKeys = "/etcdserverpb.KV/";
constexpr std::string_view kAuth = "/etcdserverpb.Auth/";
constexpr std::string_view kMaintenance = "/etcdserverpb.Maintenance/";

constexpr int kUnknown = 2;
constexpr Duration kBcryptMin = 50ms, kBcryptMax = 90ms;

std::string in_words(const Alarm& alarm) {
  return "memberID:" + std::to_string(alarm.member.value) +
         " alarm:" + (alarm.kind == AlarmKind::NoSpace ? "NOSPACE" : "CORRUPT") + " ";
}

}  // namespace

Result<std::int64_t> DataRequest::put(const std::string& key, std::uint64_t value) {
  const Instant end = now() + kRequestLimit;
  if (!reach(end)) return unavailable();
  if (learns()) return fail(kFailedPrecondition, "rpc not supported for learner"), unavailable();
  if (!has_room(key, std::to_string(value))) return unavailable();
  if (!until(end, [&] { return asked_->leader.value != 0; })) return unavailable();
  if (!forward()) return unavailable();
  Change change;
  change.kind = Change::Kind::Put;
  change.key = key;
  change.value = std::to_string(value);
  if (!identify(change.caller)) return unavailable();
  Process* leader = world_.leader_of(*asked_);
  const auto outcome = propose(leader, std::move(change));
  bool done = until(end, [&] { return outcome->known; });
  if (done && outcome->refusal.code != 0) done = fail(outcome->refusal);
  if (done && pause(200us, 1ms)) return outcome->revision;
  const bool refused_everywhere = outcome->known && outcome->refusal.code == kDataLoss;
  if (!leader || refused_everywhere) return unavailable();
  return Error{Code::Lost, error_.message};
}

Result<DataRequest::Got> DataRequest::get(const std::string& key) {
  if (!reach(now() + kRequestLimit)) return unavailable();
  if (learns()) return fail(kFailedPrecondition, "rpc not supported for learner"), unavailable();
  if (!read_index() || !database()) return unavailable();
  const Store& store = asked_->dir->applied.store;
  const auto found = store.range(key, "", 0);
  Got got{.value = 0, .revision = store.revision()};
  if (!found.empty()) {
    const std::string& text = found.front().version->value;
    (void)std::from_chars(text.data(), text.data() + text.size(), got.value);
  }
  if (!pause(200us, 1ms)) return unavailable();
  return got;
}

bool DataRequest::for_learners(const std::string& path, const std::string& question) const {
  if (path == "/etcdserverpb.Maintenance/Status") return true;
  return path == "/etcdserverpb.KV/Range" && parse<pb::RangeRequest>(question).serializable();
}

bool DataRequest::call(const std::string& path, const std::string& question, std::string& answer) {
  if (!database()) return false;
  if (path.starts_with(kKeys)) return kv_call(path.substr(kKeys.size()), question, answer);
  if (path.starts_with(kAuth)) return auth_call(path.substr(kAuth.size()), question, answer);
  check(path.starts_with(kMaintenance), ("not modelled: etcd's " + path).c_str());
  const std::string name = path.substr(kMaintenance.size());
  if (name == "Status") return status(answer);
  if (name == "Alarm") return alarm(question, answer);
  if (name == "HashKV") return hash_kv(question, answer);
  check(name == "Defragment", ("not modelled: etcd's " + path).c_str());
  return defragment(answer);
}

bool DataRequest::kv_call(std::string_view name, const std::string& question, std::string& answer) {
  if (name == "Put") return put(question, answer);
  if (name == "Range") return range(question, answer);
  if (name == "DeleteRange") return erase(question, answer);
  check(name == "Compact", "not modelled: a call of etcd's KV");
  return compact(question, answer);
}

bool DataRequest::status(std::string& answer) {
  if (!must_be(asked_->facts.status_answers)) return false;
  const DataDir& dir = *asked_->dir;
  pb::StatusResponse status;
  fill(status);
  status.mutable_header()->set_revision(dir.applied.store.revision());
  status.set_version(asked_->version_text);
  status.set_dbsize(dir.applied.store.file_bytes());
  status.set_dbsizeinuse(dir.applied.store.bytes());
  status.set_leader(asked_->leader.value);
  status.set_raftindex(dir.commit);
  status.set_raftterm(dir.term);
  status.set_raftappliedindex(dir.applied.index);
  status.set_islearner(learns());
  if (asked_->leader.value == 0) status.add_errors("etcdserver: no leader");
  for (const Alarm& alarm : dir.applied.alarms) status.add_errors(in_words(alarm));
  answer = status.SerializeAsString();
  return true;
}

bool DataRequest::agree(Change change, Outcome& outcome) {
  return identify(change.caller) && commit(std::move(change), outcome);
}

bool DataRequest::commit(Change change, Outcome& outcome) {
  const Instant end = now() + kRequestLimit;
  if (!until(end, [&] { return asked_->leader.value != 0; }) || !forward()) return false;
  const auto known = propose(world_.leader_of(*asked_), std::move(change));
  if (!until(end, [&] { return known->known; })) return false;
  outcome = *known;
  return outcome.refusal.code == 0 || fail(outcome.refusal);
}

bool DataRequest::agree_and_answer(Change change, std::string& answer) {
  Outcome outcome;
  if (!agree(std::move(change), outcome)) return false;
  pb::HeaderResponse done;
  fill(done);
  done.mutable_header()->set_revision(outcome.revision);
  answer = done.SerializeAsString();
  return true;
}

// --- keys

/// A member without room raises NOSPACE in the cluster.
bool DataRequest::has_room(const std::string& key, const std::string& value) {
  const Applied& applied = asked_->dir->applied;
  if (applied.has_room(key, value, asked_->flags)) return true;
  Change change;
  change.kind = Change::Kind::Raise;
  change.alarm = Alarm{.kind = AlarmKind::NoSpace, .member = asked_->id()};
  Outcome outcome;
  (void)commit(std::move(change), outcome);
  return fail(kResourceExhausted, "mvcc: database space exceeded");
}

bool DataRequest::put(const std::string& question, std::string& answer) {
  const auto asked = parse<pb::PutRequest>(question);
  if (!has_room(asked.key(), asked.value())) return false;
  if (asked.key().empty()) return fail(kInvalidArgument, "key is not provided");
  Change change;
  change.kind = Change::Kind::Put;
  change.key = asked.key();
  change.value = asked.value();
  return agree_and_answer(std::move(change), answer);
}

bool DataRequest::range(const std::string& question, std::string& answer) {
  const auto asked = parse<pb::RangeRequest>(question);
  if (asked.key().empty()) return fail(kInvalidArgument, "key is not provided");
  if (!asked.serializable() && !read_index()) return false;
  Caller caller;
  if (!identify(caller)) return false;
  const Store& store = asked_->dir->applied.store;
  if (const Refusal denied = users().may_touch_keys(caller); denied.code != 0) return fail(denied);
  if (const Refusal refusal = store.must_have(asked.revision()); refusal.code != 0)
    return fail(refusal);
  pb::RangeResponse found;
  fill(found);
  const auto all = store.range(asked.key(), asked.range_end(), asked.revision());
  found.set_count(static_cast<std::int64_t>(all.size()));
  if (asked.count_only()) {
    answer = found.SerializeAsString();
    return true;
  }
  for (const auto& [key, version] : all) {
    if (found.kvs_size() == asked.limit() && asked.limit() > 0) {
      found.set_more(true);
      break;
    }
    auto* one = found.add_kvs();
    one->set_key(key);
    one->set_value(version->value);
    one->set_create_revision(version->created);
    one->set_mod_revision(version->revision);
    one->set_version(version->count);
  }
  answer = found.SerializeAsString();
  return true;
}

bool DataRequest::erase(const std::string& question, std::string& answer) {
  const auto asked = parse<pb::DeleteRangeRequest>(question);
  if (asked.key().empty()) return fail(kInvalidArgument, "key is not provided");
  Change change;
  change.kind = Change::Kind::Delete;
  change.key = asked.key();
  change.end = asked.range_end();
  Outcome outcome;
  if (!agree(std::move(change), outcome)) return false;
  pb::DeleteRangeResponse done;
  fill(done);
  done.mutable_header()->set_revision(outcome.revision);
  done.set_deleted(outcome.count);
  answer = done.SerializeAsString();
  return true;
}

bool DataRequest::compact(const std::string& question, std::string& answer) {
  if (!must_be(etcd::Answers::Root)) return false;
  Change change;
  change.kind = Change::Kind::Compact;
  change.revision = parse<pb::CompactionRequest>(question).revision();
  return agree_and_answer(std::move(change), answer);
}

// --- the database as a whole

bool DataRequest::alarm(const std::string& question, std::string& answer) {
  const auto asked = parse<pb::AlarmRequest>(question);
  const bool reads = asked.action() == pb::AlarmRequest::GET;
  if (!must_be(reads ? etcd::Answers::AnyUser : etcd::Answers::Root)) return false;
  Change change;
  change.kind = reads                                          ? Change::Kind::Alarms
                : asked.action() == pb::AlarmRequest::ACTIVATE ? Change::Kind::Raise
                                                               : Change::Kind::Disarm;
  check(asked.alarm() != pb::NONE || change.kind == Change::Kind::Alarms,
        "not modelled: no kind of alarm");
  if (asked.alarm() != pb::NONE)
    change.alarm = Alarm{.kind = AlarmKind(asked.alarm()), .member = {asked.memberid()}};
  Outcome outcome;
  if (!agree(std::move(change), outcome)) return false;
  pb::AlarmResponse response;
  fill(response);
  for (const Alarm& alarm : outcome.alarms) {
    auto* one = response.add_alarms();
    one->set_memberid(alarm.member.value);
    one->set_alarm(pb::AlarmType(alarm.kind));
  }
  answer = response.SerializeAsString();
  return true;
}

bool DataRequest::must_be_root_of_database() {
  if (must_be(etcd::Answers::Root)) return true;
  constexpr std::string_view kPrefix = "etcdserver: ";
  if (asked_->version.minor > 5 || !status_.message.starts_with(kPrefix)) return false;
  return fail(Refusal{.code = kUnknown, .text = "auth: " + status_.message.substr(kPrefix.size())});
}

/// False: the process ended while it defragmented.
bool DataRequest::database() {
  return until(Instant::max(), [&] { return !asked_->defragments; });
}

/// Defragments this member only. It goes on if the caller goes.
bool DataRequest::defragment(std::string& answer) {
  if (!must_be_root_of_database() || !pause(1ms, 20ms)) return false;
  world_.defragment(*asked_);
  if (!database()) return false;
  answer = pb::HeaderResponse().SerializeAsString();  // Without a header.
  return true;
}

/// Hashes of the last compactions are kept until a restart, each with the compaction before it.
bool DataRequest::hash_kv(const std::string& question, std::string& answer) {
  if (!must_be_root_of_database()) return false;
  const std::int64_t revision = parse<pb::HashKVRequest>(question).revision();
  const Store& store = asked_->dir->applied.store;
  etcd::KeyHash found{.hash = 0, .revision = 0, .compacted = store.compacted()};
  if (const auto known = asked_->hashes.find(revision); known != asked_->hashes.end()) {
    found = known->second;
  } else {
    if (const Refusal refusal = store.must_have(revision); refusal.code != 0) return fail(refusal);
    found.hash = store.hash(revision > 0 ? revision : store.revision());
  }
  pb::HashKVResponse response;
  fill(response);
  response.set_hash(found.hash);
  response.set_compact_revision(found.compacted);
  answer = response.SerializeAsString();
  return true;
}

Result<std::string> DataRequest::snapshot() {
  if (!reach(Instant::max()) || !database() || !must_be_root_of_database()) return error_;
  const Applied& applied = asked_->dir->applied;
  const std::string image = to_bytes({applied.store, applied.users, applied.alarms, applied.minor});
  if (!pause(1ms, 20ms)) return error_;
  status_.code = 0;
  return image;
}

// --- users

bool DataRequest::auth_call(std::string_view name, const std::string& question,
                            std::string& answer) {
  if (name == "Authenticate") return authenticate(question, answer);
  Change change;
  if (name == "UserAdd") {
    const auto asked = parse<pb::AuthUserAddRequest>(question);
    change.kind = Change::Kind::AddUser;
    change.user = asked.name();
    change.password = Secret(asked.password());
    if (!pause(kBcryptMin, kBcryptMax)) return false;
  } else if (name == "UserChangePassword") {
    const auto asked = parse<pb::AuthUserChangePasswordRequest>(question);
    change.kind = Change::Kind::ChangePassword;
    change.user = asked.name();
    change.password = Secret(asked.password());
    if (!pause(kBcryptMin, kBcryptMax)) return false;
  } else if (name == "UserGrantRole") {
    const auto asked = parse<pb::AuthUserGrantRoleRequest>(question);
    change.kind = Change::Kind::Grant;
    change.user = asked.user();
    change.word = asked.role();
  } else if (name == "AuthEnable") {
    change.kind = Change::Kind::EnableAuth;
  } else {
    check(name == "AuthStatus", "not modelled: a call of etcd's Auth");
    change.kind = Change::Kind::AskAuth;
    Outcome outcome;
    if (!agree(std::move(change), outcome)) return false;
    pb::AuthStatusResponse status;
    fill(status);
    status.set_enabled(users().enabled());
    status.set_authrevision(users().revision());
    answer = status.SerializeAsString();
    return true;
  }
  return agree_and_answer(std::move(change), answer);
}

bool DataRequest::authenticate(const std::string& question, std::string& answer) {
  const auto asked = parse<pb::AuthenticateRequest>(question);
  if (!read_index()) return false;
  Outcome outcome;
  for (bool again = true; again;) {
    const std::uint64_t checked = users().revision();
    const Refusal refusal = users().check_password(asked.name(), Secret(asked.password()));
    if (users().enabled() && !pause(kBcryptMin, kBcryptMax)) return false;
    if (refusal.code != 0) return fail(refusal);
    Change change;
    change.kind = Change::Kind::Authenticate;
    change.user = asked.name();
    for (int i = 0; i < 16; ++i) change.word += static_cast<char>('a' + world_.dice.below(26));
    if (!commit(std::move(change), outcome)) return false;
    again = checked != users().revision();
  }
  pb::AuthenticateResponse response;
  fill(response);
  response.set_token(outcome.token);
  answer = response.SerializeAsString();
  return true;
}

}  // namespace etcdop::sim
