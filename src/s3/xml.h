// The XML of object stores' answers: elements and text, pulled piece by piece, bounded.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace etcdop::s3 {

/// Reads a document front to back without recursion; the document must outlive this. Skips
/// attributes and the XML declaration. Corrupt: not well-formed, or a construct that no object
/// store sends and that could cause work or hide something: document types, comments, CDATA, other
/// entities than XML's five and characters by number, more than kDepthMax levels. Why:
/// docs/dev/adr/0011.
class XmlReader {
 public:
  static constexpr std::size_t kDepthMax = 8;
  explicit XmlReader(std::string_view document) : rest_(document) {}

  enum class Kind { Open, Text, Close, End };
  struct Piece {
    Kind kind = Kind::End;
    std::string text = {};  ///< For Open and Close the element's name, without a namespace prefix.
  };
  /// Text is not blank; End: the document is complete, and nothing is left.
  Result<Piece> next();

 private:
  Result<Piece> tag();
  Result<Piece> open(std::string_view inside);
  Result<Piece> close(std::string_view name);
  Error wrong(const std::string& what) const;

  std::string_view rest_;
  std::vector<std::string> open_;  // As written, with prefixes.
  bool closes_at_once_ = false, any_ = false;
};

/// One printable line of bounded length, from foreign text.
std::string one_line(std::string_view text);

}  // namespace etcdop::s3
