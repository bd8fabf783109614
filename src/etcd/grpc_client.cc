#include "etcd/client.h"

#include <utility>

#include "etcd/rpc.pb.h"

namespace etcdop::etcd {
namespace {
namespace pb = etcdserverpb;

template <class Answer, class Question>
Result<Answer> call(http::GrpcChannel& channel, const char* path, const Question& question) {
  auto bytes = channel.unary(path, question.SerializeAsString());
  if (!bytes) return bytes.error();
  Answer answer;
  if (!answer.ParseFromString(*bytes))
    return Error{Code::Corrupt, std::string(path) + ": not the message it should be"};
  return answer;
}

Member to_member(const pb::Member& m) {
  return {m.id(), m.name(), {m.peerurls().begin(), m.peerurls().end()}, m.islearner()};
}

}  // namespace

Result<std::vector<Member>> Client::members(bool linearizable) {
  pb::MemberListRequest question;
  question.set_linearizable(linearizable);
  auto answer =
      call<pb::MemberListResponse>(channel_, "/etcdserverpb.Cluster/MemberList", question);
  if (!answer) return answer.error();
  std::vector<Member> members;
  for (const auto& m : answer->members()) members.push_back(to_member(m));
  return members;
}

Result<Status> Client::status() {
  auto answer = call<pb::StatusResponse>(channel_, "/etcdserverpb.Maintenance/Status", pb::Empty());
  if (!answer) return answer.error();
  return Status{answer->version(), answer->header().member_id(), answer->leader(),
                answer->raftindex(), answer->dbsize()};
}

Result<Member> Client::add_learner(const std::string& peer_url) {
  pb::MemberAddRequest question;
  question.add_peerurls(peer_url);
  question.set_islearner(true);
  auto answer = call<pb::MemberAddResponse>(channel_, "/etcdserverpb.Cluster/MemberAdd", question);
  if (!answer) return answer.error();
  return to_member(answer->member());
}

Result<Done> Client::promote(std::uint64_t id) {
  pb::MemberIdRequest question;
  question.set_id(id);
  auto answer =
      call<pb::MemberListResponse>(channel_, "/etcdserverpb.Cluster/MemberPromote", question);
  if (!answer) return answer.error();
  return Done{};
}

Result<Done> Client::remove(std::uint64_t id) {
  pb::MemberIdRequest question;
  question.set_id(id);
  auto answer =
      call<pb::MemberListResponse>(channel_, "/etcdserverpb.Cluster/MemberRemove", question);
  if (!answer) return answer.error();
  return Done{};
}

Result<Done> Client::put(std::string key, std::string value) {
  pb::PutRequest question;
  question.set_key(std::move(key));
  question.set_value(std::move(value));
  auto answer = call<pb::PutResponse>(channel_, "/etcdserverpb.KV/Put", question);
  if (!answer) return answer.error();
  return Done{};
}

Result<std::uint64_t> Client::snapshot(const http::GrpcChannel::Sink& sink) {
  std::uint64_t bytes = 0;
  bool well_formed = true;
  auto end =
      channel_.stream("/etcdserverpb.Maintenance/Snapshot", "", [&](std::string_view message) {
        pb::SnapshotResponse part;
        well_formed = part.ParseFromArray(message.data(), static_cast<int>(message.size()));
        bytes += part.blob().size();
        return well_formed && sink(part.blob());
      });
  if (!end) return Error(end.error()).during("snapshot");
  if (!well_formed) return Error{Code::Corrupt, "snapshot: not the message it should be"};
  return bytes;
}

}  // namespace etcdop::etcd
