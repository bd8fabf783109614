#include "sim/etcd/net.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/etcd/clients.h"
#include "sim/scheduler.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;

/// As the world has it: every member at an address of its own, names like DNS.
class Net : public ::testing::Test {
 protected:
  explicit Net(std::uint64_t seed = 1)
      : world_(seed), dice_(seed), net_(world_, wall_, dice_.split(), options()) {}
  ~Net() override {
    net_.stop();
    world_.run();
    EXPECT_EQ(net_.self_check(), "");
  }

  EtcdNet::Options options() {
    return {.resolve = [this](const std::string& host) -> std::optional<std::string> {
              const auto found = names_.find(host);
              return found == names_.end() ? std::nullopt : std::optional(found->second);
            },
            .tell = [this](const std::string& who,
                           const std::string& what) { trace_.push_back(who + " " + what); }};
  }
  static std::string address(int i) { return "10.0.0." + std::to_string(i); }
  static std::string name(int i) { return "m" + std::to_string(i); }
  static std::string url(int i) { return "http://" + name(i) + ":2380"; }
  static std::string list(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i ? "," : "") + name(i) + "=" + url(i);
    return text;
  }
  void start(int i, int count, bool existing, const std::string& version = "3.6.16") {
    names_[name(i)] = address(i);
    auto& dir = dirs_[i];
    if (!dir) dir = empty_data_dir();
    net_.start(
        {.address = address(i),
         .version = version,
         .command = {"etcd", "--name=" + name(i), "--initial-advertise-peer-urls=" + url(i),
                     "--advertise-client-urls=http://" + name(i) + ":2379",
                     "--initial-cluster=" + list(count), "--initial-cluster-token=t",
                     std::string("--initial-cluster-state=") + (existing ? "existing" : "new")},
         .dir = dir,
         .exited = [this, i](int code, const std::string& words) { exits_[i] = {code, words}; }});
  }
  std::shared_ptr<etcd::Client> client(int i) {
    return clients_.at({.address = address(i),
                        .server_name = name(i),
                        .tls = false,
                        .cluster = std::nullopt,
                        .member = std::nullopt});
  }
  bool eventually(const std::function<bool()>& holds, Duration max = 30s) {
    const Instant end = world_.now() + max;
    while (!holds()) {
      if (world_.now() >= end) return false;
      (void)world_.sleep(50ms);
    }
    return true;
  }
  void run(const std::function<void()>& body) {
    bool done = false;
    (void)world_.spawn([&] {
      body();
      net_.stop();
      done = true;
    });
    world_.run();
    EXPECT_TRUE(done);
    if (HasFailure())
      for (const auto& line : trace_) std::puts(line.c_str());
  }

  Scheduler world_;
  Dice dice_;
  etcdop::testing::VirtualWallClock wall_{world_};
  std::map<std::string, std::string> names_;
  std::map<int, std::shared_ptr<DataDir>> dirs_;
  std::map<int, std::pair<int, std::string>> exits_;
  std::vector<std::string> trace_;
  EtcdNet net_;
  EtcdClients clients_{world_, net_};
};

TEST_F(Net, GrowsFromOneToThreeAndKeepsItsKeys) {
  run([&] {
    start(0, 1, false);
    ASSERT_TRUE(eventually([&] { return bool(client(0)->status()); }));
    ASSERT_TRUE(net_.put(world_, address(0), "k", 7));
    for (int i = 1; i < 3; ++i) {
      etcd::MemberId id;
      ASSERT_TRUE(eventually([&] {
        auto added = client(0)->add_learner(url(i));
        if (added) id = *added;
        return bool(added);
      }));
      start(i, i + 1, true);
      ASSERT_TRUE(eventually([&] { return bool(client(0)->promote(id)); }));
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(eventually([&] { return bool(net_.get(world_, address(i), "k")); }));
      EXPECT_EQ(*net_.get(world_, address(i), "k"), 7U);
    }
    net_.kill(address(0));
    ASSERT_TRUE(eventually([&] { return bool(net_.put(world_, address(1), "k", 8)); }));
    EXPECT_EQ(*net_.get(world_, address(2), "k"), 8U);
    EXPECT_EQ(net_.births().size(), 1U);
  });
}

}  // namespace
}  // namespace etcdop::sim
