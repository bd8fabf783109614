#include "sys/self_signed.h"

#include <utility>

#include "base/check.h"

namespace etcdop {
Identity self_sign(const std::string& name, WallTime from, WallTime until) {
  auto made =
      issue({.common_name = name, .names = {name}, .server = true, .from = from, .until = until});
  check(bool(made), "OpenSSL makes a self-signed certificate");
  return std::move(*made);
}

SelfSignedServer::SelfSignedServer(const WallClock& clock, std::string name)
    : clock_(clock), name_(std::move(name)) {}

Result<std::unique_ptr<Stream>> SelfSignedServer::over(std::unique_ptr<Stream> below) {
  renew_if_due();
  const auto server = server_;
  return server->over(std::move(below));
}

const std::string& SelfSignedServer::certificate() {
  renew_if_due();
  return certificate_;
}

void SelfSignedServer::renew_if_due() {
  const WallTime now = clock_.wall_now();
  // If the date is before `from_`, the clock was set back.
  if (server_ && from_ <= now && now < until_ + -kRenewBefore) return;
  from_ = now + -kClocksDiffer;
  until_ = now + kValid;
  const Identity made = self_sign(name_, from_, until_);
  auto server = TlsServer::load({made.certificate, made.key, {}, {}});
  check(bool(server), "OpenSSL reads what it has written");
  certificate_ = made.certificate;
  server_ = std::make_shared<const TlsServer>(std::move(*server));
}

}  // namespace etcdop
