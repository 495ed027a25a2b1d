// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

/// What every file beside this one defines: one run of a reader over bytes from anywhere. libFuzzer
/// calls it, or driver.cpp where the compiler has no libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lime::fuzz {

/// Runs `read`, which may succeed or throw lime::Error with a message of one line; anything else
/// (a crash, another exception, a message of several lines) is a finding and ends the process.
void reads_or_refuses(const std::function<void()>& read);

/// Ends the process unless `holds`: what a reader has accepted must be as its header says.
void require(bool holds, const char* what);

/// The bytes as text.
std::string_view text_of(const std::uint8_t* data, std::size_t size);

/// A folder of this process, removed when it ends. TMPDIR says where it lies.
const std::filesystem::path& scratch_folder();

/// Writes `content` to the file `name` of the scratch folder. @return its path.
std::filesystem::path scratch_file(std::string_view name, std::string_view content);

/// `text` up to the first NUL, and what follows that: two files in one input.
std::pair<std::string_view, std::string_view> split_at_nul(std::string_view text);

}  // namespace lime::fuzz
