// versitygw on 127.0.0.1, and the client that snapshots use.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
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
constexpr const char* kStranger = "stranger";  // An account without any permission.
constexpr const char* kDomain = "s3.test";  // For the bucket in the host's name; dialed by number.
constexpr int kTriesMax = 50;

/// The system's clock, ahead.
class OtherClock final : public WallClock {
 public:
  explicit OtherClock(std::chrono::seconds ahead) : ahead_(ahead) {}
  WallTime wall_now() const override { return SystemWallClock().wall_now() + ahead_; }

 private:
  const std::chrono::seconds ahead_;
};

/// One user's client, with its own clock.
class RealStore final : public s3::Store {
 public:
  RealStore(Executor& executor, const sim::StoreUser& user, const s3::Place& place,
            http::HttpClient::Dial dial, const s3::Client::Identity& identity)
      : clock_(user.clock_ahead),
        client_(executor, clock_, place, std::move(dial), identity, {.version = "contract"}) {}
  Result<s3::Object> head(const std::string& key) override { return client_.head(key); }
  Result<s3::Object> get(const std::string& key, const s3::GetOptions& options,
                         const Sink& sink) override {
    return client_.get(key, options, sink);
  }
  Result<s3::Tag> put(const std::string& key, std::string_view bytes,
                      const s3::PutOptions& options) override {
    return client_.put(key, bytes, options);
  }
  Result<s3::Upload> create_multipart(const std::string& key, const s3::Metadata& data) override {
    return client_.create_multipart(key, data);
  }
  Result<s3::Tag> upload_part(const s3::Upload& upload, int number,
                              std::string_view bytes) override {
    return client_.upload_part(upload, number, bytes);
  }
  Result<s3::Tag> complete(const s3::Upload& upload, const std::vector<s3::Part>& parts,
                           bool only_if_absent) override {
    return client_.complete(upload, parts, only_if_absent);
  }
  Result<Done> abort(const s3::Upload& upload) override { return client_.abort(upload); }
  Result<s3::Page> list(const s3::ListOptions& options) override { return client_.list(options); }
  Result<std::vector<s3::Upload>> uploads(const std::string& prefix) override {
    return client_.uploads(prefix);
  }
  Result<Done> remove(const std::string& key) override { return client_.remove(key); }

 private:
  OtherClock clock_;
  s3::Client client_;
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
    return std::make_unique<RealStore>(
        loop_, user, *place, [this] { return loop_.connect("127.0.0.1", port_); },
        [who]() -> Result<s3::Credentials> { return who; });
  }
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
  /// Until it answers to our key: another program's port would not.
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
  std::string port_;
  bool path_style_ = true;
  std::unique_ptr<Process> process_;
};

}  // namespace

std::unique_ptr<Stores> make_real_stores(const std::string& program) {
  return std::make_unique<RealStores>(program);
}

}  // namespace etcdop::contract
