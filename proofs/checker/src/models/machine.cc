#include "models/machine.h"

#include "prove.h"

#include <bit>
#include <utility>

namespace prove {

void Machine::fail(std::string kind, std::string what, unsigned thread) {
    if (failed_)
        return;
    failed_ = true;
    failure_ = {std::move(kind), std::move(what), thread};
}

bool Machine::beyond() const {
    for (unsigned t = 0; t < threads_; t++) {
        if (at(t).op.kind == Kind::kBeyond)
            return true;
    }
    return false;
}

// Memory that was looked at before is known to be good.
const char *Machine::look_at_memory(void (*function)()) {
    const Layout &layout = program_.layout();
    std::vector<uint64_t> words;
    current(words);
    words.push_back(reinterpret_cast<uint64_t>(function));
    Hash hash = hash_words(words.data(), words.size());
    if (good_.contains(hash))
        return nullptr;
    for (const Unit &unit : layout.units())
        Native::poke(layout.word_address(unit.word) + unit.offset,
                     low_bytes(words[unit.word] >> 8 * unit.offset, unit.size), unit.size);
    const char *what = program_.look(function);
    if (!what)
        good_.insert(hash);
    return what;
}

void Machine::check_end() {
    if (const char *what = look_at_memory(prove_end))
        fail("end", what, 0);
}

void Machine::check_invariant(unsigned thread) {
    if (!prove_invariant)
        return;
    if (const char *what = look_at_memory(prove_invariant))
        fail("invariant", what, thread);
}

void Machine::tell(unsigned thread, const Operation &op, uint64_t value, bool drain) {
    if (rows_)
        rows_->push_back({thread, drain, false, op, value, detail(thread)});
}

bool Machine::goes_round(unsigned thread, unsigned &steps) {
    constexpr unsigned kMost = 20'000;
    if (++steps < kMost)
        return false;
    fail("loop", "a loop without end that no other thread can influence, and without prove_wait",
         thread);
    return true;
}

} // namespace prove
