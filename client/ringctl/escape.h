#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ringd::ctl {

// Bytes that come from users are printed in one of two forms. Escaped bytes are written \xHH, two upper-case hex
// digits.

// Quoted is ring::Shown, which cannot be read back, between double quotes, for names inside sentences.
std::string Quoted(std::string_view text);

// TsvList says whether a tsv cell holds a list, in which a comma inside an element is escaped as well.
enum class TsvList { kNo, kElement };

// AppendTsv appends `text` in the form that every command reads back: valid UTF-8 as it is; control bytes, backslash
// and bytes that are not UTF-8 escaped.
void AppendTsv(std::string_view text, TsvList list, std::string* out);

std::string EscapeForTsv(std::string_view text);

// ReadTsv is the text that AppendTsv wrote so; nullopt where a backslash begins something else than \xHH. The digits
// may be lower-case ones.
std::optional<std::string> ReadTsv(std::string_view cell);

}  // namespace ringd::ctl
