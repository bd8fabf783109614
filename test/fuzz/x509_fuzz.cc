// Certificates and keys from a user's Secret. Their texts reach conditions.
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "sys/tls.h"
#include "sys/x509.h"

namespace etcdop {
namespace {

void told(const std::string& text) { check(is_utf8(text), "a condition can have it"); }

void judged(const Identity& identity, const std::string& ca) {
  for (const WallTime now :
       {WallTime{std::chrono::seconds(0)}, WallTime{std::chrono::seconds(1795233378)}}) {
    const Judgement found = judge(identity, ca, {.server = true, .client = true}, now);
    check(now < found.until, "it holds for a while");
    for (const std::string& fault : found.faults) told(fault);
    if (!found.leaf) continue;
    told(found.leaf->common_name);
    told(found.leaf->serial);
    for (const std::string& name : found.leaf->names) told(name);
    (void)to_rfc3339(found.leaf->from);
    (void)to_rfc3339(found.leaf->until);
  }
}

}  // namespace
}  // namespace etcdop

/// Certificate, key and CA, each after a line "#".
extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  using namespace etcdop;
  if (size > 64 << 10) return 0;
  std::string parts[3];
  std::string_view rest(data, size);
  for (std::string& part : parts) {
    const std::size_t end = rest.find("\n#\n");
    part = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 3);
  }
  const Identity identity{parts[0], Secret(parts[1])};
  judged(identity, parts[2]);
  judged(identity, "");
  auto client = TlsClient::load({parts[2], parts[0], identity.key, "h2"});
  if (!client) told(client.error().message);
  auto server = TlsServer::load({parts[0], identity.key, parts[2], ""});
  if (!server) told(server.error().message);
  const auto made = issue({.common_name = "db-server",
                           .names = {"*.db.prod.svc", "127.0.0.1"},
                           .from = {},
                           .until = WallTime{std::chrono::seconds(1795233378)}},
                          &identity);
  if (!made) told(made.error().message);
  return 0;
}
