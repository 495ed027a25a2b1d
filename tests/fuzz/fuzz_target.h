// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

/// Defined by every harness: one run of a reader over untrusted bytes. Called by libFuzzer, or by
/// driver.cpp if the compiler has no libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lime::fuzz {

/// Runs `read`, which may succeed or throw lime::Error with a one-line message; anything else (a
/// crash, another exception, a message of several lines) is a finding and ends the process.
void reads_or_refuses(const std::function<void()>& read);

/// Ends the process unless `holds`: an accepted file must satisfy the reader's documented
/// guarantees.
void require(bool holds, const char* what);

/// Returns the bytes as text.
std::string_view text_of(const std::uint8_t* data, std::size_t size);

/// Returns a temporary folder of this process, removed at exit. Located in TMPDIR.
const std::filesystem::path& scratch_folder();

/// Writes `content` to the file `name` of the scratch folder. @return its path.
std::filesystem::path scratch_file(std::string_view name, std::string_view content);

/// Splits `text` at the first NUL: two files in one input.
std::pair<std::string_view, std::string_view> split_at_nul(std::string_view text);

}  // namespace lime::fuzz
