// The calls that the compiler puts into a client for each access (callbacks.cc), and the client's
// own (prove.h).
#pragma once

namespace prove {

// Asks for the plain store that was announced last, if it has not been asked for.
void flush_store();

} // namespace prove
