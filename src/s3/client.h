// s3::Store over HTTP: signs each request, bounds each answer, follows no redirect.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "base/wall_time.h"
#include "http/http_client.h"
#include "s3/answers.h"
#include "s3/place.h"
#include "s3/sigv4.h"
#include "s3/store.h"

namespace etcdop::s3 {

/// One bucket of a real store. Calls may run at the same time, each on its own fiber.
class Client final : public Store {
 public:
  /// Called before each request, so that credentials can be renewed; it may suspend.
  using Identity = std::function<Result<Credentials>()>;
  struct Options {
    std::string version;                            ///< For User-Agent.
    std::size_t kept = 2;                           ///< Connections kept between calls.
    Duration kept_limit = std::chrono::seconds(5);  ///< Stores close idle connections soon.
  };
  /// `dial` connects and handshakes (dialer.h); it may suspend. References must outlive this.
  Client(Executor&, const WallClock&, const Place&, http::HttpClient::Dial dial, Identity,
         const Options&);

  Result<Object> head(const std::string& key) override;
  Result<Object> get(const std::string& key, const GetOptions&, const Sink&) override;
  Result<Tag> put(const std::string& key, std::string_view bytes, const PutOptions&) override;
  Result<Upload> create_multipart(const std::string& key, const Metadata&) override;
  Result<Tag> upload_part(const Upload&, int number, const Payload&) override;
  Result<Tag> complete(const Upload&, const std::vector<Part>&, bool only_if_absent) override;
  Result<Done> abort(const Upload&) override;
  Result<Page> list(const ListOptions&) override;
  Result<std::vector<Upload>> uploads(const std::string& prefix) override;
  Result<Done> remove(const std::string& key) override;

  /// Limit of an answer without a sink: a page of a thousand keys of maximum length fits.
  static constexpr std::size_t kAnswerBytesMax = 8 << 20;

 private:
  struct Ask;
  static Ask with(const Payload&, Ask);
  /// Signs and sends; a status other than 2xx is an error.
  Result<http::Response> send(const Ask&, const Sink* sink = nullptr);
  /// send() for a request that stores bytes; returns their tag.
  Result<Tag> store(const Ask&);
  Executor& executor_;
  const WallClock& wall_;
  const Place place_;
  const Identity identity_;
  const std::string user_agent_;
  http::HttpClient http_;
};

}  // namespace etcdop::s3
