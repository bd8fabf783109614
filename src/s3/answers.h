// Answers of object stores, as values and in words. Pure; shared by the client and the simulation.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "s3/store.h"

namespace etcdop::s3 {

/// The parts of a request that affect an error's meaning and words.
struct Asked {
  enum class Condition { None, Absent, SameTag };
  const char* call = "";  ///< "HEAD", "CompleteMultipartUpload".
  bool writes = false;
  Condition condition = Condition::None;
  std::string bucket, key = {};  ///< No key: the request is about the bucket.
};

/// A status other than 2xx, or an error inside a 200.
struct Refusal {
  int status = 0;
  std::string code = {};      ///< "NoSuchKey"; empty if missing, as after HEAD.
  std::string message = {};   ///< The store's own message.
  std::string region = {};    ///< The bucket's region, if the store names it.
  std::string location = {};  ///< The other host of a redirect.
};

Refusal to_refusal(const http::Response&);
/// Maps it to the words and codes of store.h.
Error to_error(const Asked&, const Refusal&);
/// Maps an error of http::HttpClient to the codes of store.h: a lost read did not happen; a write
/// with a senseless answer has an unknown outcome.
Error to_error(const Asked&, const Error&);

/// Why a store refused us, for messages to people; more detailed than a Code.
enum class Trouble {
  None,         ///< No store has answered.
  Bucket,       ///< It does not exist.
  Elsewhere,    ///< The bucket is in another region, or has another endpoint, permanently.
  Credentials,  ///< Unknown, wrong, or expired.
  Permission,   ///< The credentials do not allow it.
  Clock,        ///< Our clock and the store's differ.
  Unsupported,  ///< The store cannot do that.
  Other
};
/// For an error of a Store.
Trouble trouble_of(const Error&);

/// From headers. Corrupt: a header is missing or not a number.
Result<Object> to_object(const http::Response&);
Result<Tag> to_tag(const http::Response&);

// From bodies. Corrupt: not the requested document.

Result<Page> to_page(std::string_view body);
Result<std::vector<Upload>> to_uploads(std::string_view body);
/// From the answer to CreateMultipartUpload.
Result<std::string> to_upload_id(std::string_view body);
/// From the answer to CompleteMultipartUpload, whose 200 may contain an error.
Result<Tag> to_completed(const Asked&, std::string_view body);

/// The body of CompleteMultipartUpload.
std::string to_body(const std::vector<Part>&);

/// Invalid: a key that could change on its way: empty, too long, with control characters, or with
/// "." or ".." between slashes.
Result<Done> check_key(const std::string& key);
/// Invalid: a name or value that headers cannot carry.
Result<Done> check_metadata(const Metadata&);

}  // namespace etcdop::s3
