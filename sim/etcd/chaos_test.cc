// Many small worlds: members start, die, are cut off, join and leave while clients write and read.
// Goal: no acknowledged write is lost, and the fake keeps its own promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/etcd/clients.h"
#include "sim/etcd/net.h"
#include "sim/scheduler.h"
#include "test/support/every.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;

constexpr int kNodes = 7;
constexpr int kClients = 8;
constexpr Duration kTrouble = 30s;

/// One world by seed. Each client owns a key and writes 1, 2, 3... to it.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : world_(seed), dice_(seed), net_(world_, wall_, dice_.split(), options()) {}

  /// Returns the fault; empty if none.
  std::string run() {
    (void)world_.spawn([this] {
      live();
      ended_ = true;
      net_.stop();
    });
    world_.run();
    if (!ended_) wrong_ += "it does not end\n";
    wrong_ += net_.self_check();
    return wrong_;
  }
  /// Changes if anything at all happened differently.
  std::uint64_t trace() const { return trace_; }
  int written() const { return written_; }
  int read() const { return read_; }
  int changes() const { return changes_; }

 private:
  struct Key {
    std::uint64_t acknowledged = 0, attempted = 0;
  };

  EtcdNet::Options options() {
    return {.resolve = [this](const std::string& host) -> std::optional<std::string> {
              const auto found = names_.find(host);
              return found == names_.end() ? std::nullopt : std::optional(found->second);
            },
            .tell =
                [this](const std::string& who, const std::string& what) {
                  const std::string line =
                      std::to_string(world_.now().time_since_epoch().count()) + who + what;
                  for (const char c : line)
                    trace_ = (trace_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
                }};
  }
  static std::string address(int i) { return "10.0.0." + std::to_string(i); }
  static std::string url(int i) { return "http://n" + std::to_string(i) + ":2380"; }

  void start(int i) {
    if (net_.runs(address(i))) return;
    names_["n" + std::to_string(i)] = address(i);
    auto& dir = dirs_[i];
    if (!dir) dir = empty_data_dir();
    net_.start({.address = address(i),
                .version = "3.6.16",
                .command = {"etcd", "--name=n" + std::to_string(i),
                            "--initial-advertise-peer-urls=" + url(i),
                            "--advertise-client-urls=http://n" + std::to_string(i) + ":2379",
                            "--initial-cluster=" + lists_[i], "--initial-cluster-token=t",
                            "--initial-cluster-state=" + std::string(i < 3 ? "new" : "existing"),
                            "--max-learners=8"},
                .dir = dir,
                .exited = {}});
  }

  void live() {
    for (int i = 0; i < 3; ++i) lists_[i] = "n0=" + url(0) + ",n1=" + url(1) + ",n2=" + url(2);
    for (int i = 0; i < 3; ++i) start(i);
    net_.slow_defragmentations(10000);
    std::vector<std::shared_ptr<Fiber>> fibers;
    for (int i = 0; i < kClients; ++i)
      fibers.push_back(world_.spawn([this, i] { write_and_read(i); }));
    fibers.push_back(world_.spawn([this] { change_members(); }));
    const Instant end = world_.now() + kTrouble;
    while (world_.now() < end) {
      make_trouble();
      (void)world_.sleep(dice_.between(10ms, 2s));
    }
    trouble_ = false;
    heal();
    for (const auto& fiber : fibers) (void)fiber->join();
    (void)world_.sleep(30s);
    for (int i = 0; i < kClients; ++i) final_read(i);
  }

  void heal() {
    for (int a = 0; a < kNodes; ++a)
      for (int b = a + 1; b < kNodes; ++b) net_.cut(address(a), address(b), false);
    for (const auto& [i, dir] : dirs_) start(i);
    net_.free_all();
  }

  /// Half of the time the leader, else a random node.
  int somebody() {
    const bool leads = dice_.one_in(2);
    const int node = static_cast<int>(dice_.below(kNodes));
    for (const auto& process : net_.processes())
      if (leads && process.leads) return process.address.back() - '0';
    return node;
  }

  void make_trouble() {
    const int one = somebody();
    const int other = static_cast<int>(dice_.below(kNodes));
    switch (dice_.below(11)) {
      case 0: return net_.kill(address(one));
      case 1: return net_.terminate(address(one));
      case 2:
      case 3:
        if (one != other) net_.cut(address(one), address(other), true);
        return;
      case 4:
        for (int away = 0; away < kNodes; ++away)
          if (away != one) net_.cut(address(one), address(away), true);
        return;
      case 5: return heal();
      case 6: return net_.hang(address(one), !net_.hangs(address(one)));
      case 7: return net_.stall(address(one), dice_.one_in(2));
      default:
        if (one != other) net_.cut(address(one), address(other), false);
        if (dirs_.contains(other)) start(other);
    }
  }

  std::shared_ptr<etcd::Client> client(int i) {
    return clients_.at({.address = address(i),
                        .server_name = "",
                        .cluster = std::nullopt,
                        .member = std::nullopt});
  }

  /// Nodes 3 and up join as learners and are promoted; sometimes a member is removed for good.
  void change_members() {
    int next = 3;
    while (trouble_) {
      (void)world_.sleep(dice_.between(10ms, 1s));
      const auto by = client(static_cast<int>(dice_.below(static_cast<std::uint64_t>(next))));
      if (dice_.one_in(10)) (void)by->defragment();
      auto list = by->member_list(etcd::Read::Linearizable);
      if (!list) continue;
      const auto learner = std::ranges::find(list->members, true, &etcd::Member::learner);
      if (learner != list->members.end()) {
        if (by->promote(learner->id)) ++changes_;
      } else if (list->members.size() > 3 && dice_.one_in(2)) {
        const std::size_t victim = dice_.below(list->members.size());
        if (by->remove(list->members[victim].id)) ++changes_;
      } else if (next < kNodes) {
        std::string text;
        for (const auto& member : list->members)
          text += (member.name.empty() ? "x" : member.name) + "=" + member.peer_urls[0] + ",";
        lists_[next] = text + "n" + std::to_string(next) + "=" + url(next);
        if (!by->add_learner(url(next))) continue;
        ++changes_;
        start(next++);
      }
    }
  }

  void write_and_read(int i) {
    const std::string key = "k" + std::to_string(i);
    while (trouble_) {
      if (dice_.one_in(2)) (void)world_.sleep(dice_.between(1ms, 600ms));
      const int node = static_cast<int>(dice_.below(kNodes));
      Key& mine = keys_[i];
      if (dice_.one_in(2)) {
        const std::uint64_t value = ++mine.attempted;
        if (!net_.put(world_, address(node), key, value)) continue;
        mine.acknowledged = value;
        ++written_;
      } else {
        auto value = net_.get(world_, address(node), key);
        if (!value) continue;
        ++read_;
        expect(key, *value, mine);
        // A value that was read stays: no later read may return an older one.
        mine.acknowledged = std::max(mine.acknowledged, *value);
      }
    }
  }

  /// The client waits for each put's end, so no earlier put of its own takes effect after a later
  /// one.
  void expect(const std::string& key, std::uint64_t value, const Key& mine) {
    if (value > mine.attempted) wrong_ += key + ": a value that nobody wrote\n";
    if (value < mine.acknowledged)
      wrong_ += key + ": " + std::to_string(mine.acknowledged) + " was there, then " +
                std::to_string(value) + "\n";
  }

  void final_read(int i) {
    const std::string key = "k" + std::to_string(i);
    for (int round = 0; round < 100; ++round)
      for (int node = 0; node < kNodes; ++node) {
        auto value = net_.get(world_, address(node), key);
        if (value) return expect(key, *value, keys_[i]);
      }
    ++unread_;
  }

  Scheduler world_;
  Dice dice_;
  etcdop::testing::VirtualWallClock wall_{world_};
  std::map<std::string, std::string> names_;
  std::map<int, std::string> lists_;
  std::map<int, std::shared_ptr<DataDir>> dirs_;
  std::map<int, Key> keys_;
  std::string wrong_;
  std::uint64_t trace_ = 14695981039346656037U;
  int written_ = 0, read_ = 0, changes_ = 0, unread_ = 0;
  bool trouble_ = true, ended_ = false;
  EtcdNet net_;
  EtcdClients clients_{world_, net_};
};

TEST(EtcdChaos, NothingAcknowledgedIsLost) {
  int written = 0, read = 0, changes = 0;
  std::uint64_t trace = 0;
  for (std::uint64_t seed = 1; seed <= (testing::kSanitized ? 25 : 500); ++seed) {
    Chaos chaos(seed);
    ASSERT_EQ(chaos.run(), "") << "seed " << seed;
    written += chaos.written();
    read += chaos.read();
    changes += chaos.changes();
    trace ^= chaos.trace();
  }
  std::printf("%d written, %d read, %d changes, trace %s\n", written, read, changes,
              etcd::to_hex(trace).c_str());
}

TEST(EtcdChaos, ASeedIsAWorld) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Chaos once(seed), again(seed), other(seed + 1);
    EXPECT_EQ(once.run(), again.run());
    EXPECT_EQ(once.trace(), again.trace());
    EXPECT_EQ(other.run(), "");
    EXPECT_NE(once.trace(), other.trace());
  }
}

}  // namespace
}  // namespace etcdop::sim
