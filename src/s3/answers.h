// What object stores answer, as values and in words. Pure; shared by the client and the simulation.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "s3/store.h"

namespace etcdop::s3 {

/// What was asked, as far as an error's meaning and words depend on it.
struct Asked {
  enum class Condition { None, Absent, SameTag };
  const char* call = "";  ///< "HEAD", "CompleteMultipartUpload".
  bool writes = false;
  Condition condition = Condition::None;
  std::string bucket, key = {};  ///< No key: it is about the bucket.
};

/// A status other than 2xx, or an error inside a 200.
struct Refusal {
  int status = 0;
  std::string code = {};      ///< "NoSuchKey"; empty if there was none, as after HEAD.
  std::string message = {};   ///< The store's own.
  std::string region = {};    ///< Where the bucket is, if the store says so.
  std::string location = {};  ///< Of a redirect: the other host.
};

Refusal to_refusal(const http::Response&);
/// In the words and codes of store.h.
Error to_error(const Asked&, const Refusal&);
/// What http::HttpClient says, in the codes of store.h: a read that was lost did not happen, and
/// of a write whose answer makes no sense nothing is known.
Error to_error(const Asked&, const Error&);

/// What of us a store did not take, for who has to tell people; more than a Code says.
enum class Trouble {
  None,         ///< No store has answered.
  Bucket,       ///< It is not there.
  Elsewhere,    ///< The bucket is in another region, or has another endpoint, for good.
  Credentials,  ///< Not known, not right, or expired.
  Permission,   ///< May not do that.
  Clock,        ///< Ours and the store's differ.
  Unsupported,  ///< The store cannot do that.
  Other
};
/// Of an error of a Store.
Trouble trouble_of(const Error&);

/// From headers. Corrupt: something is missing or no number.
Result<Object> to_object(const http::Response&);
Result<Tag> to_tag(const http::Response&);

// Bodies. Corrupt: not the document that was asked for.

Result<Page> to_page(std::string_view body);
Result<std::vector<Upload>> to_uploads(std::string_view body);
/// Of CreateMultipartUpload.
Result<std::string> to_upload_id(std::string_view body);
/// Of CompleteMultipartUpload, whose 200 may hold an error.
Result<Tag> to_completed(const Asked&, std::string_view body);

/// What CompleteMultipartUpload sends.
std::string to_body(const std::vector<Part>&);

/// Invalid: not a key that stays what it is on its way: empty, too long, with control characters or
/// with "." or ".." between slashes.
Result<Done> check_key(const std::string& key);
/// Invalid: a name or value that headers cannot carry.
Result<Done> check_metadata(const Metadata&);

}  // namespace etcdop::s3
