// versitygw on 127.0.0.1, and the client that snapshots use.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "s3/client.h"
#include "sys/asio_loop.h"
#include "sys/system.h"
#include "test/contract/process.h"
#include "test/contract/s3_stores.h"

namespace etcdop::contract {
namespace {

using namespace std::chrono_literals;

constexpr const char* kKeyId = "contract";
constexpr const char* kStranger = "stranger";  // An account without permissions.
constexpr const char* kDomain = "s3.test";     // For the bucket in the host name; dialled by IP.
constexpr int kTriesMax = 50;

/// The system's clock, plus an offset.
class OtherClock final : public WallClock {
 public:
  explicit OtherClock(std::chrono::seconds ahead) : ahead_(ahead) {}
  WallTime wall_now() const override { return SystemWallClock().wall_now() + ahead_; }

 private:
  const std::chrono::seconds ahead_;
};

class RealStores final : public Stores {
 public:
  explicit RealStores(std::string program) : program_(std::move(program)) {
    for (const char* folder : {"/buckets", "/accounts"})
      std::filesystem::create_directory(folder_ + folder);
    std::ofstream(folder_ + "/accounts/users.json")
        << R"({"accessAccounts": {")" << kStranger << R"(": {"access": ")" << kStranger
        << R"(", "secret": ")" << secret_ << R"(", "role": "user"}}})";
  }
  ~RealStores() override {
    process_.reset();
    std::filesystem::remove_all(folder_);
  }
  void run(const std::function<void()>& body) override {
    (void)loop_.spawn([&] {
      const Within limit(loop_, 3min);
      start();
      body();
    });
    loop_.run();
  }
  void make_bucket(const std::string& name) override {
    std::filesystem::create_directory(folder_ + "/buckets/" + name);
  }
  void remove_bucket(const std::string& name) override {
    std::filesystem::remove_all(folder_ + "/buckets/" + name);
  }
  std::unique_ptr<s3::Store> as(const sim::StoreUser& user, const std::string& bucket) override {
    auto place = s3::to_place({.endpoint = "http://" + std::string(kDomain) + ":" + port_,
                               .bucket = bucket,
                               .region = user.region,
                               .path_style = path_style_});
    check(bool(place), place ? "" : place.error().message.c_str());
    const s3::Credentials who{.key_id = key_of(user),
                              .secret = Secret(user.right_secret ? secret_ : "guessed")};
    const OtherClock& clock = clocks_.try_emplace(user.clock_ahead, user.clock_ahead).first->second;
    return std::make_unique<s3::Client>(
        loop_, clock, *place, [this] { return loop_.connect("127.0.0.1", port_); },
        [who]() -> Result<s3::Credentials> { return who; },
        s3::Client::Options{.version = "contract"});
  }
  Executor& executor() override { return loop_; }
  void path_style(bool on) override { path_style_ = on; }
  void print_logs() override {
    std::printf("--- versitygw\n%s\n", read_file(folder_ + "/log").c_str());
  }

 private:
  static std::string key_of(const sim::StoreUser& user) {
    if (!user.known_key) return "somebody";
    const int may = user.may_read + user.may_write + user.may_delete + user.may_list;
    check(may == 0 || may == 4, "versitygw has an account with all permissions and one with none");
    return may == 0 ? kStranger : kKeyId;
  }
  /// Until it answers to our key: a foreign program on the port would not.
  void start() {
    if (process_) return;
    for (int tries = 0; tries < kTriesMax; ++tries) {
      port_ = free_port();
      process_ = std::make_unique<Process>(
          std::vector<std::string>{
              program_, "--access", kKeyId, "--secret", secret_, "--keep-alive", "--port",
              "127.0.0.1:" + port_, "--iam-dir", folder_ + "/accounts", "--virtual-domain",
              std::string(kDomain) + ":" + port_, "posix", folder_ + "/buckets"},
          folder_ + "/log");
      if (answers()) return;
    }
    print_logs();
    check(false, "versitygw starts");
  }
  bool answers() {
    path_style_ = true;
    const auto store = as({}, "no-such-bucket");
    while (!process_->ended()) {
      if (store->list({}).failed_with(Code::Invalid)) return true;  // It knows us, and no bucket.
      (void)loop_.sleep(20ms);
    }
    return false;
  }
  std::string free_port() {
    auto listener = loop_.listen("127.0.0.1", 0);
    check(bool(listener), "a free port");
    return std::to_string((*listener)->local_port());
  }

  const std::string program_;
  const std::string folder_ = new_folder();
  const std::string secret_ = "secret-" + std::to_string(getpid());
  AsioLoop loop_;
  std::map<std::chrono::seconds, OtherClock> clocks_;  // The clients use them.
  std::string port_;
  bool path_style_ = true;
  std::unique_ptr<Process> process_;
};

}  // namespace

std::unique_ptr<Stores> make_real_stores(const std::string& program) {
  return std::make_unique<RealStores>(program);
}

}  // namespace etcdop::contract
