#include "agent/process_etcd.h"

#include <chrono>
#include <utility>

#include "agent/folder_restore_site.h"
#include "etcd/dial.h"
#include "etcd/key_digest.h"
#include "etcd/pool.h"
#include "sys/folder.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHere = "127.0.0.1";
constexpr const char *kCa = "ca.crt", *kCertificate = "tls.crt", *kKey = "tls.key";
constexpr unsigned kFileMode = 0600;
constexpr Duration kLookPause = 100ms;
constexpr Duration kRunLimit = 1h;  // More than any caller has.
constexpr std::chrono::hours kCertificatesValid{24};
/// Another process may take a port between our check and etcd's start.
constexpr int kStartsMax = 3;

Result<Done> write(const Folder& folder, const char* name, const std::string& text) {
  auto file = folder.create(name, kFileMode);
  if (!file) return file.error();
  if (auto written = file->write(text); !written) return written;
  return file->finish();
}

Error end_of(Result<CommandOutput>& ended) {
  if (!ended) return ended.error();
  const std::string how = ended->signal != 0
                              ? "was killed by signal " + std::to_string(ended->signal)
                              : "ended with " + std::to_string(ended->exit_code);
  return {Code::Lost, "etcd " + how + ": " + ended->err_end};
}

bool port_was_taken(const Error& error) {
  return error.message.find("address already in use") != std::string::npos;
}

}  // namespace

ProcessEtcd::ProcessEtcd(AsioLoop& loop, const WallClock& clock, Log& log, Options options)
    : loop_(loop), clock_(clock), log_(log), options_(std::move(options)) {}

ProcessEtcd::~ProcessEtcd() = default;

Result<Done> ProcessEtcd::start() {
  auto program = find_program();
  if (!program) return program.error();
  if (auto made = make_certificates(); !made) return made;
  for (int starts = 1;; ++starts) {
    auto ports = free_ports();
    if (!ports) return ports.error();
    launch(*program, *ports);
    auto answers = wait_for_answer(*ports);
    if (answers || !port_was_taken(answers.error()) || starts == kStartsMax) return answers;
    stop();
  }
}

Result<std::string> ProcessEtcd::find_program() const {
  for (const std::string& path : options_.programs)
    if (is_program(path)) return path;
  return Error{Code::NotFound,
               "no etcd that could be run: the image must have it at /usr/local/bin/etcd or in "
               "PATH"};
}

/// A CA that signs two certificates and is then discarded.
Result<Done> ProcessEtcd::make_certificates() {
  const WallTime from = clock_.wall_now() + -kClocksDiffer, until = from + kCertificatesValid;
  auto authority =
      issue({.common_name = "verify-agent", .authority = true, .from = from, .until = until});
  if (!authority) return authority.error();
  auto server = issue({.common_name = "verify",
                       .names = {kHere},
                       .server = true,
                       .client = true,  // etcd's gateway uses it as a client of itself.
                       .from = from,
                       .until = until},
                      &*authority);
  if (!server) return server.error();
  auto root =
      issue({.common_name = "root", .client = true, .from = from, .until = until}, &*authority);
  if (!root) return root.error();
  tls_ = std::make_shared<const TlsClient::Options>(
      TlsClient::Options{.ca = authority->certificate,
                         .certificate = root->certificate,
                         .key = root->key,
                         .alpn = {}});

  auto in = Folder::open(options_.data_dir);
  if (!in) return in.error();
  auto folder = in->inside(kRebuiltTlsFolder);
  if (!folder) return folder.error();
  if (auto written = write(*folder, kCa, authority->certificate); !written) return written;
  if (auto written = write(*folder, kCertificate, server->certificate); !written) return written;
  return write(*folder, kKey, server->key.reveal());
}

Result<ProcessEtcd::Ports> ProcessEtcd::free_ports() {
  auto client = loop_.listen(kHere, 0);
  if (!client) return client.error();
  auto peer = loop_.listen(kHere, 0);
  if (!peer) return peer.error();
  return Ports{.client = (*client)->local_port(), .peer = (*peer)->local_port()};
}

std::vector<std::string> ProcessEtcd::arguments(const Ports& ports) const {
  const std::string here = std::string("://") + kHere + ":";
  const std::string client = "https" + here + std::to_string(ports.client);
  const std::string peer = "http" + here + std::to_string(ports.peer);
  const std::string tls = options_.data_dir + "/" + kRebuiltTlsFolder + "/";
  return {"--name=verify",
          "--data-dir=" + options_.data_dir + "/" + kRebuiltFolder,
          "--initial-cluster=verify=" + peer,
          "--initial-advertise-peer-urls=" + peer,
          "--listen-peer-urls=" + peer,
          "--listen-client-urls=" + client,
          "--advertise-client-urls=" + client,
          "--client-cert-auth",
          "--trusted-ca-file=" + tls + kCa,
          "--cert-file=" + tls + kCertificate,
          "--key-file=" + tls + kKey,
          "--unsafe-no-fsync",
          "--log-level=warn"};
}

/// The process belongs to a fiber, which ends it when it is cancelled.
void ProcessEtcd::launch(const std::string& program, const Ports& ports) {
  const auto run = std::make_shared<Run>();
  run_ = run;
  const Command command{.program = program,
                        .args = arguments(ports),
                        .env = without_credentials(),
                        .limit = kRunLimit};
  log_.info("starting etcd on what was restored", {{"program", program}});
  run->fiber =
      loop_.spawn([&loop = loop_, run, command] { run->ended = run_command(loop, command); });
}

Result<Done> ProcessEtcd::wait_for_answer(const Ports& ports) {
  auto pool =
      std::make_unique<etcd::Pool>(loop_, etcd::network_dial(loop_, std::to_string(ports.client)));
  client_ = pool->at({.address = kHere,
                      .server_name = kHere,
                      .tls = tls_,
                      .cluster = std::nullopt,
                      .member = std::nullopt});
  clients_ = std::move(pool);
  const Within limit(loop_, kStartLimit);
  for (;;) {
    if (run_->ended) return end_of(*run_->ended);
    auto status = client_->status();
    if (status && status->leader.value != 0) return Done{};
    const std::string last = status ? "it has no leader" : status.error().message;
    if (auto slept = to_result(loop_.sleep(kLookPause), "waiting for etcd"); !slept)
      return Error(slept.error()).during(last);
  }
}

Result<etcd::KeyHash> ProcessEtcd::hash_kv(std::int64_t revision) {
  return client_->hash_kv(revision);
}

Result<std::int64_t> ProcessEtcd::count(std::int64_t revision) {
  auto page = client_->keys({.revision = revision, .limit = 0});
  if (!page) return page.error();
  return page->count;
}

Result<std::string> ProcessEtcd::digest(std::int64_t revision) {
  return etcd::digest_keys(loop_, *client_, revision);
}

void ProcessEtcd::stop() {
  if (!run_) return;
  client_.reset();
  clients_.reset();  // The fibers of its connections end here.
  run_->fiber->cancel();
  (void)run_->fiber->join();
  if (run_->ended && *run_->ended)
    log_.info("etcd ended", {{"last_words", (*run_->ended)->err_end}});
  run_.reset();
}

}  // namespace etcdop::agent
