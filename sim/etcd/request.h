// One request of a client: on a fiber of the world's, as if at the process that was asked.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "etcd/rpc.pb.h"
#include "http/grpc_channel.h"
#include "sim/etcd/world.h"

namespace etcdop::sim {

/// What every request does. A function that fails has said why in `error_` and `status_`.
class Request {
 public:
  Request(EtcdWorld& world, const EtcdNet::Address& address, http::GrpcStatus& status,
          std::string token = {}, std::string common_name = {})
      : world_(world),
        address_(address),
        status_(status),
        token_(std::move(token)),
        common_name_(std::move(common_name)) {}
  virtual ~Request() = default;
  Result<std::string> unary(const std::string& path, const std::string& question);

 protected:
  /// The answer to a question that reached a process which serves.
  virtual bool call(const std::string& path, const std::string& question, std::string& answer) = 0;
  /// Whether a learner answers that, too.
  virtual bool for_learners(const std::string& path, const std::string& question) const = 0;

  Instant now() const { return world_.executor.now(); }

  // --- ends and waits
  bool fail(int code, const std::string& text) {
    return fail(Refusal{.code = code, .text = "etcdserver: " + text});
  }
  bool fail(const Refusal&);
  Error unavailable() const { return {Code::Unavailable, error_.message}; }
  bool here() const { return asked_->phase != Process::Phase::Ended; }
  bool gone();
  bool given_up();
  bool pause(Duration low, Duration high);
  /// Until it holds, which is asked whenever something changes at the process.
  bool until(Instant end, const std::function<bool()>& holds);
  /// The connection is taken by whoever listens; it is answered once the process serves.
  bool reach(Instant end);
  bool learns() const { return asked_->dir->applied.learns(asked_->id()); }

  // --- who asks
  const Users& users() const { return asked_->dir->applied.users; }
  /// False: its token is none, or not one any more.
  bool identify(Caller&);
  bool must_be(etcd::Answers who);

  // --- consensus
  /// What was committed before now is applied here.
  bool read_index();
  bool forward();
  /// Whoever asked knows the outcome when it is applied at the process that was asked. Null: what
  /// was sent to a leader that is none any more is lost.
  std::shared_ptr<Outcome> propose(Process* leader, Change);

  template <class Answer>
  void fill(Answer& answer) const {
    auto* header = answer.mutable_header();
    header->set_cluster_id(asked_->dir->owner->cluster.value);
    header->set_member_id(asked_->id().value);
    header->set_raft_term(asked_->dir->term);
    header->set_revision(asked_->dir->applied.store.revision());
  }
  template <class Question>
  static Question parse(const std::string& bytes) {
    Question question;
    check(question.ParseFromString(bytes), "a request is the message it should be");
    return question;
  }

  static constexpr Duration kRequestLimit{7'000'000'000};  // ReqTimeout: 5 s, two elections.
  EtcdWorld& world_;
  const EtcdNet::Address address_;
  http::GrpcStatus& status_;
  const std::string token_, common_name_;
  std::shared_ptr<Process> asked_;
  Error error_{Code::Unavailable, ""};
};

/// Keys, alarms, users and the database: etcd's KV, Auth and Maintenance.
class DataRequest final : public Request {
 public:
  using Request::Request;
  /// Returns its revision.
  Result<std::int64_t> put(const std::string& key, std::uint64_t value);
  struct Got {
    std::uint64_t value = 0;
    std::int64_t revision = 0;  ///< Of the store that had it.
  };
  Result<Got> get(const std::string& key);
  /// The whole of it, as EtcdNet::stream sends it.
  Result<std::string> snapshot();

 private:
  bool call(const std::string& path, const std::string& question, std::string& answer) override;
  bool for_learners(const std::string& path, const std::string& question) const override;
  bool kv_call(std::string_view name, const std::string& question, std::string& answer);
  bool auth_call(std::string_view name, const std::string& question, std::string& answer);
  bool authenticate(const std::string& question, std::string& answer);
  bool status(std::string& answer);
  bool hash_kv(const std::string& question, std::string& answer);
  /// 3.5 forgets to translate what stands before some calls.
  bool must_be_root_of_database();
  bool put(const std::string& question, std::string& answer);
  bool range(const std::string& question, std::string& answer);
  bool erase(const std::string& question, std::string& answer);
  bool compact(const std::string& question, std::string& answer);
  bool alarm(const std::string& question, std::string& answer);
  bool defragment(std::string& answer);
  bool has_room(const std::string& key, const std::string& value);
  /// Through the log, in time, in the name of who asks.
  bool agree(Change, Outcome&);
  bool commit(Change, Outcome&);
  bool agree_and_answer(Change, std::string& answer);
};

}  // namespace etcdop::sim
