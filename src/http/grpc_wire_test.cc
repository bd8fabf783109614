#include "http/grpc_wire.h"

#include <gtest/gtest.h>

#include <vector>

namespace etcdop::http {
namespace {

using namespace std::chrono_literals;

TEST(GrpcWire, ABodyIsCutIntoItsMessagesWhereverItWasTorn) {
  const std::string body =
      to_grpc_frame("one") + to_grpc_frame("") + to_grpc_frame(std::string(300, 'x'));
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    GrpcMessages messages(1000);
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < body.size(); at += piece) {
      messages.feed(std::string_view(body).substr(at, piece));
      for (;;) {
        auto next = messages.next();
        ASSERT_TRUE(next);
        if (!*next) break;
        seen.emplace_back(**next);
      }
    }
    ASSERT_EQ(seen, (std::vector<std::string>{"one", "", std::string(300, 'x')}));
    EXPECT_EQ(messages.unread(), 0U);
  }
}

TEST(GrpcWire, AMessageThatHasNotEndedIsUnfinished) {
  GrpcMessages messages(1000);
  messages.feed(to_grpc_frame("cut").substr(0, 6));
  auto next = messages.next();
  ASSERT_TRUE(next);
  EXPECT_FALSE(*next);
  EXPECT_EQ(messages.unread(), 6U);
}

TEST(GrpcWire, TooLargeIsSaidBeforeTheMessageHasCome) {
  GrpcMessages exact(3), over(2);
  exact.feed(to_grpc_frame("one"));
  EXPECT_TRUE(exact.next());
  over.feed(to_grpc_frame("one").substr(0, 5));
  EXPECT_TRUE(over.next().failed_with(Code::Corrupt));
}

TEST(GrpcWire, CompressedIsRefused) {
  GrpcMessages messages(1000);
  messages.feed(std::string("\1\0\0\0\1x", 6));
  EXPECT_TRUE(messages.next().failed_with(Code::Corrupt));
}

TEST(GrpcWire, TextIsPercentDecodedAndWhatIsNoEncodingStays) {
  EXPECT_EQ(percent_decoded("a%20b%25%C3%A9"), "a b%\xC3\xA9");
  EXPECT_EQ(percent_decoded("100%"), "100%");
  EXPECT_EQ(percent_decoded("%2"), "%2");
  EXPECT_EQ(percent_decoded("%zz%4"), "%zz%4");
  EXPECT_EQ(percent_decoded(""), "");
}

TEST(GrpcWire, NumbersAreWholeOrNone) {
  EXPECT_EQ(to_number("0"), 0);
  EXPECT_EQ(to_number("16"), 16);
  for (const char* bad : {"", "-1", "1x", " 1", "99999999999"})
    EXPECT_EQ(to_number(bad), -1) << bad;
}

TEST(GrpcWire, TimeoutsAreRoundedUpToWholeMilliseconds) {
  EXPECT_EQ(to_grpc_timeout(1500ms), "1500m");
  EXPECT_EQ(to_grpc_timeout(1us), "1m");
  EXPECT_EQ(to_grpc_timeout(-1s), "1m");
  EXPECT_EQ(to_grpc_timeout(99'999'999ms), "99999999m");
  EXPECT_EQ(to_grpc_timeout(100'000'000ms), "") << "more than a day: none";
}

}  // namespace
}  // namespace etcdop::http
