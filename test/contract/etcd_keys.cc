#include "test/contract/etcd_keys.h"

#include "etcd/rpc.pb.h"

namespace etcdop::contract {
namespace {

namespace pb = etcdserverpb;

Result<std::int64_t> revision_of(Result<pb::HeaderResponse> answer) {
  if (!answer) return answer.error();
  return std::int64_t{answer->header().revision()};
}

}  // namespace

template <class Answer, class Question>
Result<Answer> Keys::ask(const std::string& method, const Question& question,
                         etcd::Asks asks) const {
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

Result<std::int64_t> Keys::put(const std::string& key, const std::string& value) const {
  pb::PutRequest question;
  question.set_key(key);
  question.set_value(value);
  return revision_of(ask<pb::HeaderResponse>("KV/Put", question));
}

Result<std::vector<Keys::Found>> Keys::get(const Range& range) const {
  pb::RangeRequest question;
  question.set_key(range.key);
  question.set_range_end(range.end);
  question.set_revision(range.revision);
  question.set_serializable(range.serializable);
  auto answer = ask<pb::RangeResponse>("KV/Range", question, etcd::Asks::Read);
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

Result<std::pair<std::int64_t, std::int64_t>> Keys::erase(const std::string& key,
                                                          const std::string& end) const {
  pb::DeleteRangeRequest question;
  question.set_key(key);
  question.set_range_end(end);
  auto answer = ask<pb::DeleteRangeResponse>("KV/DeleteRange", question);
  if (!answer) return answer.error();
  return std::pair{std::int64_t{answer->deleted()}, std::int64_t{answer->header().revision()}};
}

Result<std::int64_t> Keys::compact(std::int64_t revision) const {
  pb::CompactionRequest question;
  question.set_revision(revision);
  question.set_physical(true);
  return revision_of(ask<pb::HeaderResponse>("KV/Compact", question));
}

Result<Done> Keys::raise(const etcd::Alarm& alarm) const {
  pb::AlarmRequest question;
  question.set_action(pb::AlarmRequest::ACTIVATE);
  question.set_memberid(alarm.member.value);
  question.set_alarm(pb::AlarmType(alarm.kind));
  auto answer = ask<pb::AlarmResponse>("Maintenance/Alarm", question);
  if (!answer) return answer.error();
  return Done{};
}

}  // namespace etcdop::contract
