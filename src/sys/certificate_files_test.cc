#include "sys/certificate_files.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "sys/x509.h"

namespace etcdop {
namespace {

const CertificateFiles::Paths kPaths{"/tls/tls.crt", "/tls/tls.key"};

constexpr const char* kName = "metrics.example";

Identity identity() {
  const auto date = [](const char* text) { return *from_rfc3339(text); };
  auto made = issue({.common_name = kName,
                     .names = {kName},
                     .server = true,
                     .from = date("2020-01-01T00:00:00Z"),
                     .until = date("2100-01-01T00:00:00Z")});
  EXPECT_TRUE(made);
  return std::move(*made);
}

struct Files {
  void put(const Identity& identity) {
    texts = {{kPaths.certificate, identity.certificate}, {kPaths.key, identity.key.reveal()}};
  }
  CertificateFiles::Read read() {
    return [this](const std::string& path) -> Result<std::string> {
      const auto found = texts.find(path);
      if (found == texts.end()) return Error{Code::NotFound, path + ": no such file"};
      return found->second;
    };
  }
  std::map<std::string, std::string> texts;
};

/// Whether the server shows this certificate.
bool shows(const CertificateFiles& files, const Identity& identity) {
  sim::Scheduler world(1);
  auto [client, peer] = sim::pipe(world);
  bool shown = false;
  world.spawn([&, &end = peer] { (void)files.over(std::move(end)); });
  world.spawn([&, &end = client] {
    auto verifier = TlsClient::load({identity.certificate, {}, {}, {}});
    ASSERT_TRUE(verifier);
    shown = bool(verifier->over(std::move(end), kName));
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
  return shown;
}

TEST(CertificateFiles, WhatIsThereIsShownAndWhatComesInItsPlace) {
  const Identity first = identity(), second = identity();
  Files there;
  there.put(first);
  auto files = CertificateFiles::load(kPaths, there.read());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_TRUE(shows(*files, first));
  there.put(second);
  EXPECT_TRUE(shows(*files, first));
  EXPECT_TRUE(files->refresh());
  EXPECT_TRUE(shows(*files, second));
  EXPECT_FALSE(shows(*files, first));
}

TEST(CertificateFiles, WhatIsOfNoUseIsToldAndNotTaken) {
  const Identity first = identity();
  Files there;
  EXPECT_EQ(CertificateFiles::load(kPaths, there.read()).error().message,
            "/tls/tls.crt: no such file");
  there.put(first);
  there.texts.erase(kPaths.key);
  EXPECT_EQ(CertificateFiles::load(kPaths, there.read()).error().message,
            "/tls/tls.key: no such file");
  there.put(first);
  auto files = CertificateFiles::load(kPaths, there.read());
  ASSERT_TRUE(files);
  there.texts[kPaths.key] = identity().key.reveal();  // As between two writes.
  const auto refreshed = files->refresh();
  ASSERT_TRUE(refreshed.failed_with(Code::Invalid));
  EXPECT_EQ(refreshed.error().message.substr(0, 34), "use /tls/tls.crt and /tls/tls.key:");
  EXPECT_TRUE(shows(*files, first));
}

}  // namespace
}  // namespace etcdop
