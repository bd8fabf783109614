#include "s3/answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "s3/identity.h"
#include "s3/xml.h"

namespace etcdop::s3 {
namespace {

constexpr std::size_t kKeyBytesMax = 1024;       // Limit of S3.
constexpr std::size_t kMetadataBytesMax = 2048;  // Limit of S3.
constexpr std::string_view kMetaPrefix = "x-amz-meta-";

Error corrupt(std::string what) { return {Code::Corrupt, std::move(what)}; }

struct Element {
  std::string name, text = {};
  std::vector<Element> children = {};
  const Element* child(std::string_view wanted) const {
    const auto it = std::ranges::find(children, wanted, &Element::name);
    return it == children.end() ? nullptr : &*it;
  }
  std::string text_of(std::string_view wanted) const {
    const Element* const found = child(wanted);
    return found ? found->text : std::string();
  }
};

/// XmlReader bounds the depth, the caller bounds the document's size.
Result<Element> to_tree(std::string_view document) {
  XmlReader reader(document);
  std::vector<Element> open = {{"document"}};
  for (;;) {
    auto piece = reader.next();
    if (!piece) return piece.error();
    switch (piece->kind) {
      case XmlReader::Kind::Open: open.push_back({std::move(piece->text)}); break;
      case XmlReader::Kind::Text: open.back().text += piece->text; break;
      case XmlReader::Kind::Close: {
        Element done = std::move(open.back());
        open.pop_back();
        open.back().children.push_back(std::move(done));
        break;
      }
      case XmlReader::Kind::End: return std::move(open.front().children.front());
    }
  }
}

Result<Element> to_tree(std::string_view document, std::string_view root) {
  auto tree = to_tree(document);
  if (tree && tree->name != root)
    return corrupt("the answer is <" + one_line(tree->name) + ">, not <" + std::string(root) +
                   ">: is this endpoint an S3 store?");
  return tree;
}

Result<std::uint64_t> to_number(const std::string& text, const char* what) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error == std::errc() && end == text.data() + text.size()) return n;
  return corrupt(std::string(what) + " in the answer is no number");
}

std::string header(const http::Response& response, const char* name) {
  const auto it = response.headers.find(name);
  return it == response.headers.end() ? std::string() : it->second;
}

/// Host and port of a URL, without parts that may be secret, such as a query.
std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return {};
  const std::string host =
      url.substr(scheme + 3, url.find_first_of("/?#", scheme + 3) - scheme - 3);
  return one_line(host.substr(host.find('@') + 1));
}

Refusal from_error_document(int status, const Element& document) {
  return {.status = status,
          .code = one_line(document.text_of("Code")),
          .message = one_line(document.text_of("Message")),
          .region = one_line(document.text_of("Region"))};
}

struct Meaning {
  Code code;
  std::string advice;
};

Meaning meaning_of_redirect(const Refusal& refusal) {
  if (!refusal.region.empty())
    return {Code::Invalid, "the bucket is in another region: set region to " + refusal.region +
                               " and the endpoint to that region's"};
  const std::string to = refusal.location.empty() ? "" : " (to " + refusal.location + ")";
  return {Code::Invalid, "redirects are not followed" + to + ": correct endpoint and region"};
}

Meaning meaning_of_status(const Asked& asked, const Refusal& refusal) {
  const bool head = refusal.code.empty();
  switch (refusal.status) {
    case 403:
      if (head && !asked.writes)
        return {Code::Denied,
                "check the credentials and grant s3:GetObject, and s3:ListBucket on the bucket: "
                "without it an object that is missing looks forbidden"};
      return {Code::Denied, "check the credentials and what they are allowed on this bucket"};
    case 404:
      // Every S3 store says what is missing, if the answer can have a body. Other servers answer
      // 404 to every unknown path.
      if (head && asked.call != std::string_view("HEAD"))
        return {Code::Invalid, "the server that answered is not an S3 store: correct the endpoint"};
      return {Code::NotFound, ""};
    case 408:
    case 429:
    case 503: return {Code::Unavailable, "the store is busy: try again later"};
    case 409: return {Code::Conflict, "another request is at work on this object: try again"};
    case 412:
      if (asked.condition == Asked::Condition::Absent)
        return {Code::AlreadyExists, "there is such an object already"};
      return {Code::Conflict, "the object is not the same any more"};
    default: break;
  }
  if (refusal.status / 100 == 3) return meaning_of_redirect(refusal);
  if (refusal.status == 400 && head)
    return {Code::Invalid, refusal.region.empty()
                               ? "it has no reason with it: check region, credentials and clock"
                               : "check that the region is " + refusal.region};
  if (refusal.status / 100 == 4) return {Code::Invalid, ""};
  if (refusal.status / 100 == 5)
    return {asked.writes ? Code::Lost : Code::Unavailable, "the store failed: try again later"};
  return {asked.writes ? Code::Lost : Code::Corrupt, "is this endpoint an S3 store?"};
}

/// Codes that say more than their status.
const Meaning* meaning_of_code(const std::string& code) {
  static const std::array<std::pair<std::string_view, Meaning>, 14> known = {{
      {"NoSuchBucket", {Code::Invalid, "there is no such bucket: create it or correct its name"}},
      {"NoSuchUpload", {Code::NotFound, "it was completed or aborted"}},
      {"InvalidAccessKeyId", {Code::Denied, "the store does not know this access key"}},
      {"SignatureDoesNotMatch", {Code::Denied, "the secret access key is not that of this key"}},
      {"ExpiredToken", {Code::Denied, "the session token has expired: renew the credentials"}},
      {"InvalidToken", {Code::Denied, "the session token is not valid: renew the credentials"}},
      {"RequestTimeTooSkewed", {Code::Denied, "this machine's clock is wrong: set it"}},
      {"RequestTimeout", {Code::Unavailable, "the body came too slowly: try again"}},
      {"BadDigest", {Code::Unavailable, "the body was damaged on its way: try again"}},
      {"XAmzContentSHA256Mismatch",
       {Code::Unavailable, "the body was damaged on its way: try again"}},
      {"SlowDown", {Code::Unavailable, "the store is busy: try again later"}},
      {"ServiceUnavailable", {Code::Unavailable, "the store is busy: try again later"}},
      {"EntityTooSmall", {Code::Invalid, "every part but the last must have 5 MiB or more"}},
      {"NotImplemented", {Code::Invalid, "this store cannot do that"}},
  }};
  const auto* const it = std::ranges::find(known, code, [](const auto& row) { return row.first; });
  return it == known.end() ? nullptr : &it->second;
}

Meaning meaning_of(const Asked& asked, const Refusal& refusal) {
  if (refusal.code == "AuthorizationHeaderMalformed" || refusal.code == "PermanentRedirect" ||
      refusal.code == "IllegalLocationConstraintException") {
    if (!refusal.region.empty())
      return {Code::Invalid, "the bucket is in another region: set region to " + refusal.region};
    return {Code::Invalid, "check region and endpoint: redirects are not followed"};
  }
  if (const Meaning* const known = meaning_of_code(refusal.code)) return *known;
  return meaning_of_status(asked, refusal);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

Refusal to_refusal(const http::Response& response) {
  Refusal refusal{.status = response.status};
  if (auto document = to_tree(response.body, "Error"))
    refusal = from_error_document(response.status, *document);
  if (const std::string region = header(response, "x-amz-bucket-region"); !region.empty())
    refusal.region = one_line(region);
  if (response.status / 100 == 3) refusal.location = host_of(header(response, "location"));
  return refusal;
}

Error to_error(const Asked& asked, const Refusal& refusal) {
  const Meaning meaning = meaning_of(asked, refusal);
  std::string text = std::string(asked.call) + " s3://" + asked.bucket;
  if (!asked.key.empty()) text += "/" + asked.key;
  text += ": " + std::to_string(refusal.status);
  if (!refusal.code.empty()) text += " " + refusal.code;
  if (!refusal.message.empty()) text += " (" + refusal.message + ")";
  if (!meaning.advice.empty()) text += ": " + meaning.advice;
  return {meaning.code, std::move(text)};
}

namespace {

/// The text from the status on, where to_error() put it: "HEAD s3://bucket/key: 403 AccessDenied
/// (...". Keys may contain ": ", too. Empty: no status found.
std::string_view answer_in(std::string_view message) {
  const auto is_status = [](std::string_view text) {
    const bool ends = text.size() == 3 || (text.size() > 3 && (text[3] == ' ' || text[3] == ':'));
    return ends && text.substr(0, 3).find_first_not_of("0123456789") == text.npos;
  };
  for (std::size_t at = message.find(" s3://"); at != message.npos;) {
    at = message.find(": ", at + 1);
    if (at != message.npos && is_status(message.substr(at + 2))) return message.substr(at + 2);
  }
  return {};
}

}  // namespace

Trouble trouble_of(const Error& error) {
  if (is_of_identity(error) && !transient(error.code)) return Trouble::Credentials;
  static constexpr std::pair<std::string_view, Trouble> known[] = {
      {"NoSuchBucket", Trouble::Bucket},
      {"PermanentRedirect", Trouble::Elsewhere},
      {"AuthorizationHeaderMalformed", Trouble::Elsewhere},
      {"IllegalLocationConstraintException", Trouble::Elsewhere},
      {"InvalidAccessKeyId", Trouble::Credentials},
      {"SignatureDoesNotMatch", Trouble::Credentials},
      {"ExpiredToken", Trouble::Credentials},
      {"InvalidToken", Trouble::Credentials},
      {"RequestTimeTooSkewed", Trouble::Clock},
      {"NotImplemented", Trouble::Unsupported}};
  const std::string_view rest = answer_in(error.message);
  std::string_view code = rest.substr(std::min<std::size_t>(4, rest.size()));
  code = code.substr(0, code.find_first_of(" :"));
  for (const auto& [text, trouble] : known)
    if (code == text) return trouble;
  if (rest.empty()) return Trouble::None;
  if (rest.starts_with("301")) return Trouble::Elsewhere;
  if (rest.starts_with("501")) return Trouble::Unsupported;
  return rest.starts_with("403") ? Trouble::Permission : Trouble::Other;
}

Error to_error(const Asked& asked, const Error& error) {
  if (asked.writes && error.code == Code::Corrupt) return {Code::Lost, error.message};
  if (!asked.writes && error.code == Code::Lost) return {Code::Unavailable, error.message};
  return error;
}

Result<Tag> to_tag(const http::Response& response) {
  Tag tag{header(response, "etag")};
  if (tag.text.empty()) return corrupt("the answer has no ETag: is this endpoint an S3 store?");
  return tag;
}

Result<Object> to_object(const http::Response& response) {
  auto tag = to_tag(response);
  if (!tag) return tag.error();
  Object object{.tag = std::move(*tag)};
  std::string size = header(response, "content-length");
  if (response.status == 206) {
    const std::string range = header(response, "content-range");  // "bytes 0-9/100"
    const std::size_t slash = range.find('/');
    if (slash == range.npos) return corrupt("the answer of a range has no Content-Range");
    size = range.substr(slash + 1);
  }
  auto number = to_number(size, "the size");
  if (!number) return number.error();
  object.size = *number;
  for (const auto& [name, value] : response.headers)
    if (name.starts_with(kMetaPrefix)) object.metadata[name.substr(kMetaPrefix.size())] = value;
  return object;
}

Result<Page> to_page(std::string_view body) {
  auto document = to_tree(body, "ListBucketResult");
  if (!document) return document.error();
  Page page;
  for (const Element& element : document->children) {
    if (element.name != "Contents") continue;
    auto size = to_number(element.text_of("Size"), "an object's size");
    if (!size) return size.error();
    page.objects.push_back(
        {.key = element.text_of("Key"), .size = *size, .tag = Tag{element.text_of("ETag")}});
    if (page.objects.back().key.empty()) return corrupt("the answer lists an object without a key");
  }
  if (document->text_of("IsTruncated") != "true") return page;
  page.token = document->text_of("NextContinuationToken");
  if (page.token.empty()) return corrupt("the answer is truncated and has no token for the rest");
  return page;
}

Result<std::vector<Upload>> to_uploads(std::string_view body) {
  auto document = to_tree(body, "ListMultipartUploadsResult");
  if (!document) return document.error();
  std::vector<Upload> uploads;
  for (const Element& element : document->children) {
    if (element.name != "Upload") continue;
    uploads.push_back({.key = element.text_of("Key"), .id = element.text_of("UploadId")});
    if (uploads.back().key.empty() || uploads.back().id.empty())
      return corrupt("the answer lists an upload without key or id");
  }
  return uploads;
}

Result<std::string> to_upload_id(std::string_view body) {
  auto document = to_tree(body, "InitiateMultipartUploadResult");
  if (!document) return document.error();
  std::string id = document->text_of("UploadId");
  if (id.empty()) return corrupt("the answer has no UploadId");
  return id;
}

Result<Tag> to_completed(const Asked& asked, std::string_view body) {
  auto document = to_tree(body);
  if (!document) return document.error();
  if (document->name == "Error") {
    // The status of an error inside a 200: AWS sends these two this way.
    Refusal refusal = from_error_document(500, *document);
    if (refusal.code == "PreconditionFailed") refusal.status = 412;
    return to_error(asked, refusal);
  }
  Tag tag{document->text_of("ETag")};
  if (document->name != "CompleteMultipartUploadResult" || tag.text.empty())
    return corrupt("the answer is no CompleteMultipartUploadResult with an ETag");
  return tag;
}

std::string to_body(const std::vector<Part>& parts) {
  std::string out = "<CompleteMultipartUpload>";
  for (const Part& part : parts)
    out += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" +
           escaped(part.tag.text) + "</ETag></Part>";
  return out + "</CompleteMultipartUpload>";
}

Result<Done> check_key(const std::string& key) {
  const auto invalid = [&](const std::string& why) {
    return Error{Code::Invalid, "key \"" + one_line(key) + "\": " + why};
  };
  if (key.empty()) return invalid("must not be empty");
  if (key.size() > kKeyBytesMax) return invalid("must have at most 1024 bytes");
  if (std::ranges::any_of(key, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }))
    return invalid("must have no control characters");
  const std::string slashed = "/" + key + "/";
  if (slashed.find("/../") != slashed.npos || slashed.find("/./") != slashed.npos)
    return invalid("must not have . or .. between slashes");
  return Done{};
}

Result<Done> check_metadata(const Metadata& metadata) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : metadata) {
    bytes += name.size() + value.size();
    const bool good_name = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    const bool good_value = std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
    if (!good_name || !good_value || value.starts_with(' ') || value.ends_with(' '))
      return Error{Code::Invalid, "metadata \"" + one_line(name) +
                                      "\": names are of a-z, 0-9 and -, values printable ASCII"};
  }
  if (bytes > kMetadataBytesMax)
    return Error{Code::Invalid, "metadata: must have at most 2048 bytes"};
  return Done{};
}

}  // namespace etcdop::s3
