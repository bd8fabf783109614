// Answers of object stores: XML, and the text of errors.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "s3/answers.h"
#include "s3/xml.h"

namespace etcdop::s3 {
namespace {

/// Each Close matches the last Open, and the parser terminates.
void pieces(std::string_view document) {
  XmlReader reader(document);
  std::vector<std::string> open;
  for (std::size_t count = 0;; ++count) {
    check(count <= document.size() + 1, "a piece has some of the document's bytes");
    auto piece = reader.next();
    if (!piece) return;
    switch (piece->kind) {
      case XmlReader::Kind::Open:
        open.push_back(piece->text);
        check(open.size() <= XmlReader::kDepthMax, "it is not deep");
        break;
      case XmlReader::Kind::Text:
        check(!open.empty() && !piece->text.empty(), "text is in an element");
        break;
      case XmlReader::Kind::Close:
        check(!open.empty() && open.back() == piece->text, "what closes is what was open");
        open.pop_back();
        break;
      case XmlReader::Kind::End: check(open.empty(), "the document is whole"); return;
    }
  }
}

/// For logs and conditions.
void must_be_one_line(const std::string& message) {
  check(std::ranges::none_of(message, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }),
        "an error's message is one line");
  check(message.size() < 4096, "and not long");
}

void documents(std::string_view body) {
  const Asked asked{.call = "CompleteMultipartUpload", .writes = true, .bucket = "b", .key = "k"};
  if (auto page = to_page(body))
    for (const Listed& object : page->objects) check(!object.key.empty(), "a key has a name");
  else must_be_one_line(page.error().message);
  if (auto uploads = to_uploads(body))
    for (const Upload& upload : *uploads)
      check(!upload.key.empty() && !upload.id.empty(), "an upload has a name");
  else must_be_one_line(uploads.error().message);
  if (auto id = to_upload_id(body)) check(!id->empty(), "an id has characters");
  else must_be_one_line(id.error().message);
  if (auto tag = to_completed(asked, body)) check(!tag->text.empty(), "a tag has characters");
  else must_be_one_line(tag.error().message);
}

/// The body as an error's, and its lines as headers.
void refusals(std::string_view body) {
  http::Response response;
  response.body = body;
  const std::string names[] = {"etag",     "content-length",      "content-range",
                               "location", "x-amz-bucket-region", "x-amz-meta-etcd-snapshot-uid"};
  std::string_view rest = body;
  for (const std::string& name : names) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    response.headers[name] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const int status : {200, 206, 301, 307, 400, 403, 404, 409, 412, 500, 501, 503}) {
    response.status = status;
    const Refusal refusal = to_refusal(response);
    for (const bool writes : {false, true}) {
      const Error error =
          to_error({.call = "PutObject", .writes = writes, .bucket = "b", .key = "k"}, refusal);
      must_be_one_line(error.message);
      (void)trouble_of(error);
    }
    (void)to_object(response);
  }
  (void)trouble_of({Code::Lost, std::string(body)});
  (void)check_key(std::string(body));
}

}  // namespace
}  // namespace etcdop::s3

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  const std::string_view text(data, size);
  etcdop::s3::pieces(text);
  etcdop::s3::documents(text);
  etcdop::s3::refusals(text);
  return 0;
}
