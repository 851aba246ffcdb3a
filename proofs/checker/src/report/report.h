// The result of a search, as JSON or as text.
#pragma once

#include "search/search.h"

#include <cstdio>
#include <string>

namespace prove {

const char *name_of(Model model);
const char *verdict_of(const SearchResult &result);

void print_json(std::FILE *to, const SearchOptions &options, const SearchResult &result,
                double seconds);
void print_text(std::FILE *to, const SearchOptions &options, const SearchResult &result,
                double seconds);

} // namespace prove
