#include "s3/xml.h"

#include <gtest/gtest.h>

namespace etcdop::s3 {
namespace {

/// "<a><b>'text'</b></a>", or the error.
std::string read(const std::string& document) {
  XmlReader reader(document);
  std::string out;
  for (std::size_t pieces = 0; pieces <= document.size() + 1; ++pieces) {
    auto piece = reader.next();
    if (!piece) {
      EXPECT_EQ(piece.error().code, Code::Corrupt);
      return piece.error().message;
    }
    switch (piece->kind) {
      case XmlReader::Kind::Open: out += "<" + piece->text + ">"; break;
      case XmlReader::Kind::Text: out += "'" + piece->text + "'"; break;
      case XmlReader::Kind::Close: out += "</" + piece->text + ">"; break;
      case XmlReader::Kind::End: return out;
    }
  }
  return "does not end";
}

TEST(XmlReader, GivesElementsAndText) {
  EXPECT_EQ(read("<?xml version=\"1.0\"?>\n<a xmlns=\"http://x/\">\n <b>1</b><c/>\n <d x='1' />"
                 "</a >\n"),
            "<a><b>'1'</b><c></c><d></d></a>");
  EXPECT_EQ(read("  \n\n<s3:a><b> two words </b></s3:a>"), "<a><b>' two words '</b></a>");
}

TEST(XmlReader, KnowsXmlsOwnEntitiesAndCharactersByNumber) {
  EXPECT_EQ(read("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#233;&#x20AC;&#x1F600;</a>"),
            "<a>'<>&\"'AB\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80'</a>");
  for (const char* bad : {"&x;", "&", "&lt", "&#;", "&#x;", "&#0;", "&#xD800;", "&#x110000;",
                          "&#99999999999;", "&#6 5;", "&;"})
    EXPECT_EQ(read("<a>" + std::string(bad) + "</a>"),
              "the answer's XML has an entity that is not XML's own")
        << bad;
}

TEST(XmlReader, RefusesWhatIsNotWhole) {
  for (const char* bad : {"", "  ", "<?xml", "<?xml?>", "<a>", "<a", "<a>text", "<a><b></a></b>",
                          "</a>", "<a></b>", "<a></a><b></b>", "<a></a>text", "text", "<>", "< a/>",
                          "<a<b></a<b>", "<a></a", "{\"json\": 1}"})
    EXPECT_TRUE(read(bad).starts_with("the answer's XML has ")) << bad << ": " << read(bad);
}

TEST(XmlReader, RefusesWhatNoStoreSends) {
  for (const char* bad : {"<!DOCTYPE a><a/>", "<a><!-- x --></a>", "<a><![CDATA[x]]></a>",
                          "<a><?x?></a>", "<a><!ENTITY b \"c\"></a>", "<?a?><?b?><a/>"})
    EXPECT_TRUE(read(bad).starts_with("the answer's XML has ")) << bad << ": " << read(bad);
}

TEST(XmlReader, HasABoundOnLevels) {
  const auto nested = [](std::size_t levels) {
    std::string open, close;
    for (std::size_t i = 0; i < levels; ++i) {
      open += "<a>";
      close += "</a>";
    }
    return read(open + close);
  };
  EXPECT_TRUE(nested(XmlReader::kDepthMax).starts_with("<a>"));
  EXPECT_EQ(nested(XmlReader::kDepthMax + 1), "the answer's XML has too many levels");
  EXPECT_EQ(nested(100'000), "the answer's XML has too many levels");
}

}  // namespace
}  // namespace etcdop::s3
