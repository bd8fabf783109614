// Keys, and alarms that somebody else raises: what our client does not ask of an etcd.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "etcd/errors.h"
#include "etcd/rpc.pb.h"
#include "test/contract/etcds.h"

namespace etcdop::contract {

/// At one node. Errors are those of etcd::to_error, with etcd's text.
class Keys {
 public:
  Keys(Etcds& etcds, std::size_t node, Secret token = {})
      : etcds_(etcds), node_(node), token_(std::move(token)) {}

  /// The revision that it made.
  Result<std::int64_t> put(const std::string& key, const std::string& value) const {
    etcdserverpb::PutRequest question;
    question.set_key(key);
    question.set_value(value);
    return revision_of(ask<etcdserverpb::HeaderResponse>("KV/Put", question));
  }
  struct Found {
    std::string key, value;
    std::int64_t created = 0, modified = 0, version = 0;
    bool operator==(const Found&) const = default;
  };
  struct Range {
    std::string key, end = "";  ///< As etcd has them: [key, end).
    std::int64_t revision = 0;  ///< 0: now.
    bool serializable = false;
  };
  Result<std::vector<Found>> get(const Range& range) const {
    etcdserverpb::RangeRequest question;
    question.set_key(range.key);
    question.set_range_end(range.end);
    question.set_revision(range.revision);
    question.set_serializable(range.serializable);
    auto answer = ask<etcdserverpb::RangeResponse>("KV/Range", question, etcd::Asks::Read);
    if (!answer) return answer.error();
    std::vector<Found> found;
    for (const auto& one : answer->kvs())
      found.push_back({.key = one.key(),
                       .value = one.value(),
                       .created = one.create_revision(),
                       .modified = one.mod_revision(),
                       .version = one.version()});
    return found;
  }
  /// How many there were, and the revision.
  Result<std::pair<std::int64_t, std::int64_t>> erase(const std::string& key,
                                                      const std::string& end = "") const {
    etcdserverpb::DeleteRangeRequest question;
    question.set_key(key);
    question.set_range_end(end);
    auto answer = ask<etcdserverpb::DeleteRangeResponse>("KV/DeleteRange", question);
    if (!answer) return answer.error();
    return std::pair{std::int64_t{answer->deleted()}, std::int64_t{answer->header().revision()}};
  }
  /// Of the keys, too, when it returns.
  Result<std::int64_t> compact(std::int64_t revision) const {
    etcdserverpb::CompactionRequest question;
    question.set_revision(revision);
    question.set_physical(true);
    return revision_of(ask<etcdserverpb::HeaderResponse>("KV/Compact", question));
  }
  Result<Done> raise(const etcd::Alarm& alarm) const {
    etcdserverpb::AlarmRequest question;
    question.set_action(etcdserverpb::AlarmRequest::ACTIVATE);
    question.set_memberid(alarm.member.value);
    question.set_alarm(etcdserverpb::AlarmType(alarm.kind));
    auto answer = ask<etcdserverpb::AlarmResponse>("Maintenance/Alarm", question);
    if (!answer) return answer.error();
    return Done{};
  }

 private:
  template <class Answer, class Question>
  Result<Answer> ask(const std::string& method, const Question& question,
                     etcd::Asks asks = etcd::Asks::Write) const {
    const Within limit(etcds_.executor(), std::chrono::seconds(10));
    http::GrpcStatus status;
    const std::string path = "/etcdserverpb." + method, message = question.SerializeAsString();
    auto bytes = etcds_.ask(node_, {path, message, token_}, status);
    if (!bytes && status.code > 0) return etcd::to_error(status.code, status.message, asks);
    if (!bytes) return bytes.error();
    Answer answer;
    if (!answer.ParseFromString(*bytes)) return Error{Code::Corrupt, method + ": no answer"};
    return answer;
  }
  static Result<std::int64_t> revision_of(const Result<etcdserverpb::HeaderResponse>& answer) {
    if (!answer) return answer.error();
    Result<etcdserverpb::HeaderResponse> copy = answer;
    return std::int64_t{copy->header().revision()};
  }

  Etcds& etcds_;
  const std::size_t node_;
  const Secret token_;
};

}  // namespace etcdop::contract
