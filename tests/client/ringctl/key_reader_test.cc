#include "client/ringctl/key_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace ringd::ctl {
namespace {

// A pipe that is written to from the test.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~Pipe() {
    Close();
    close(ends_[0]);
  }
  int reader() const { return ends_[0]; }
  void Write(std::string_view data) {
    while (!data.empty()) data.remove_prefix(static_cast<std::size_t>(write(ends_[1], data.data(), data.size())));
  }
  void Close() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

std::vector<std::string> ReadAll(std::string_view input, char separator) {
  Pipe pipe;
  std::thread writer([&] {
    pipe.Write(input);
    pipe.Close();
  });
  KeyReader reader(pipe.reader(), separator);
  std::vector<std::string> keys;
  while (reader.Next(KeyReader::WhenIdle::kWait) == KeyReader::Event::kKey) keys.emplace_back(reader.key());
  writer.join();
  return keys;
}

using Keys = std::vector<std::string>;

TEST(KeyReader, ALastLineWithoutNewlineCounts) {
  EXPECT_EQ(ReadAll("a\nb", '\n'), (Keys{"a", "b"}));
  EXPECT_EQ(ReadAll("a\nb\n", '\n'), (Keys{"a", "b"}));
  EXPECT_EQ(ReadAll("", '\n'), Keys{});
}

TEST(KeyReader, AnEmptyLineIsAKey) { EXPECT_EQ(ReadAll("\na\n\n", '\n'), (Keys{"", "a", ""})); }

TEST(KeyReader, BytesAreBytes) {
  EXPECT_EQ(ReadAll(std::string_view(" a\r\n\0\xFF\n", 7), '\n'), (Keys{" a\r", std::string("\0\xFF", 2)}));
  EXPECT_EQ(ReadAll(std::string_view("a\nb\0c\0", 6), '\0'), (Keys{"a\nb", "c"}));
}

TEST(KeyReader, KeysCrossTheBoundsOfReads) {
  std::string input;
  Keys expected;
  for (int i = 0; i < 2000; ++i) {
    expected.push_back(std::string(static_cast<std::size_t>(i), 'k'));
    input += expected.back() + "\n";
  }
  EXPECT_EQ(ReadAll(input, '\n'), expected);
}

TEST(KeyReader, TellsWhenNothingComes) {
  Pipe pipe;
  pipe.Write("a\nb");
  KeyReader reader(pipe.reader(), '\n');
  EXPECT_EQ(reader.Next(KeyReader::WhenIdle::kReturn), KeyReader::Event::kKey);
  EXPECT_EQ(reader.Next(KeyReader::WhenIdle::kReturn), KeyReader::Event::kIdle);
  pipe.Write("c\n");
  EXPECT_EQ(reader.Next(KeyReader::WhenIdle::kReturn), KeyReader::Event::kKey);
  EXPECT_EQ(reader.key(), "bc");
}

TEST(KeyReader, GivesUpOnAKeyThatIsTooLong) {
  Pipe pipe;
  std::thread writer([&] {
    pipe.Write(std::string(KeyReader::kLongestKey + (1 << 20), 'x'));
    pipe.Close();
  });
  KeyReader reader(pipe.reader(), '\n');
  EXPECT_EQ(reader.Next(KeyReader::WhenIdle::kWait), KeyReader::Event::kTooLong);
  std::string left(1 << 20, ' ');
  while (read(pipe.reader(), left.data(), left.size()) > 0) {
  }
  writer.join();
}

}  // namespace
}  // namespace ringd::ctl
