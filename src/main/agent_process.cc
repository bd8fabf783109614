#include "main/agent_process.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "agent/folder_source.h"
#include "agent/s3_source.h"
#include "s3/client.h"
#include "s3/dialer.h"
#include "s3/identity.h"
#include "sys/folder.h"
#include "sys/system.h"
#include "sys/tls.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

/// Time for cleanup after a request to end. A name lookup cannot be interrupted; the kubelet waits
/// for 30 s.
constexpr auto kStopLimit = 10s;

Reach reach_of(const agent::BucketTarget& target) {
  return target.local ? Reach::Anywhere : Reach::Beyond;
}

/// PEM; empty: the system's store.
Result<std::string> authorities_of(const agent::BucketTarget& target) {
  if (target.ca_path.empty()) return std::string();
  auto read = read_file(target.ca_path);
  if (!read) return Error{Code::Denied, "the store's caSecretRef: " + read.error().message};
  if (auto usable = TlsClient::load({.ca = *read, .certificate = {}, .key = {}, .alpn = {}});
      !usable)
    return Error{Code::Denied, "the store's caSecretRef: " + usable.error().message};
  return read;
}

/// Adds advice for people if a certificate is not trusted.
http::HttpClient::Dial advising(http::HttpClient::Dial dial, const agent::BucketTarget& target) {
  const std::string advice =
      target.ca_path.empty()
          ? "; if an authority of your own has issued it, set caSecretRef"
          : "; it must be of an authority in the Secret that caSecretRef names, and of no other";
  return [dial = std::move(dial), advice]() -> Result<std::unique_ptr<Stream>> {
    auto stream = dial();
    if (stream.failed_with(Code::Denied))
      return Error{Code::Denied, stream.error().message + advice};
    return stream;
  };
}

/// The credentials, or an identity server that lends them. Outside AWS, the store's CAs also sign
/// that server's certificate.
Result<s3::Client::Identity> identity_of(AsioLoop& loop, const WallClock& clock,
                                         const agent::BucketTarget& target,
                                         const std::string& authorities) {
  if (!target.identity)
    return s3::Client::Identity(
        [&target]() -> Result<s3::Credentials> { return target.credentials; });
  auto server = s3::to_place({.endpoint = s3::endpoint_of(*target.identity),
                              .bucket = "none",
                              .region = "none",
                              .path_style = true});
  if (!server) return server.error();
  const bool of_aws = server->host.find(".amazonaws.com") != std::string::npos;
  // The address comes from the Pod's environment, not from the spec: it may be on the node itself.
  auto dial = s3::dialer(loop, *server, of_aws ? "" : authorities, Reach::Anywhere);
  if (!dial) return dial.error();
  auto borrowed = std::make_shared<s3::Borrowed>(loop, clock, *target.identity, std::move(*dial));
  return s3::Client::Identity([borrowed] { return borrowed->get(); });
}

/// Reads one key of a mounted Secret.
Result<agent::SealingKey> read_key(const std::string& folder, const std::string& name) {
  auto text = read_file(folder + "/" + name);
  if (!text) return text.error();
  auto key = agent::to_sealing_key(Secret(std::move(*text)));
  if (!key)
    return Error{Code::Invalid,
                 "entry " + name + " of the Secret of encryption: " + key.error().message};
  return key;
}

}  // namespace

void run_to_end(AsioLoop& loop, Log& log, const std::function<void()>& work,
                const std::function<int()>& late) {
  std::shared_ptr<Fiber> worker;
  // Start this fiber first: then work that starts a process before its first wait can be cancelled
  // from that moment on.
  const auto watch = loop.spawn([&] {
    if (loop.wait_for_termination() != Woken::Ready) return;
    log.info("asked to end");
    worker->cancel();
    if (loop.sleep(kStopLimit) != Woken::Ready) return;
    log.error("some work did not stop in time");
    std::_Exit(late());
  });
  worker = loop.spawn(work);
  (void)loop.spawn([&] {
    (void)worker->join();
    watch->cancel();
  });
  loop.run();
}

Result<std::unique_ptr<s3::Store>> open_bucket(AsioLoop& loop, const WallClock& clock,
                                               const agent::BucketTarget& target) {
  auto place = s3::to_place(target.place);
  if (!place) return place.error();
  auto authorities = authorities_of(target);
  if (!authorities) return authorities.error();
  auto dial = s3::dialer(loop, *place, *authorities, reach_of(target));
  if (!dial) return dial.error();
  auto identity = identity_of(loop, clock, target, *authorities);
  if (!identity) return identity.error();
  return std::unique_ptr<s3::Store>(std::make_unique<s3::Client>(
      loop, clock, *place, advising(std::move(*dial), target), std::move(*identity),
      s3::Client::Options{.version = ETCDOP_VERSION}));
}

Result<OpenedSource> open_source(AsioLoop& loop, const WallClock& clock, Log& log,
                                 const std::optional<agent::BucketTarget>& bucket,
                                 const std::optional<agent::FolderTarget>& folder) {
  OpenedSource out;
  if (folder) {
    out.source = std::make_unique<agent::FolderSource>(*folder);
    return out;
  }
  auto store = open_bucket(loop, clock, *bucket);
  if (!store) return store.error();
  out.store = std::move(*store);
  out.source = std::make_unique<agent::S3Source>(
      loop, log, *out.store,
      agent::S3Source::Options{.bucket = bucket->place.bucket, .key = bucket->prefix});
  return out;
}

Result<std::unique_ptr<agent::SealingKeys>> open_keys(const std::string& path) {
  if (path.empty()) return std::unique_ptr<agent::SealingKeys>();
  auto folder = Folder::open(path);
  if (!folder) return folder.error();
  auto names = folder->names();
  if (!names) return names.error();
  auto out = std::make_unique<agent::SealingKeys>();
  for (const std::string& name : *names) {
    if (name.starts_with('.')) continue;  // The kubelet's own files.
    auto key = read_key(path, name);
    if (!key) return key.error();
    out->emplace(key->id, key->key);
  }
  return out;
}

Result<std::unique_ptr<agent::Sealing>> open_sealing(const std::string& path, Random& random) {
  if (path.empty()) return std::unique_ptr<agent::Sealing>();
  auto key = read_key(path, agent::kSealingEntry);
  if (!key) return key.error();
  auto out = std::make_unique<agent::Sealing>();
  out->key = std::move(*key);
  while (out->salt.size() < agent::kSealSaltBytes) {
    std::uint64_t bits = random.next();
    for (int n = 0; n < 8; ++n, bits >>= 8) out->salt += static_cast<char>(bits & 255);
  }
  return out;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, ' ');
  return text;
}

}  // namespace etcdop
