#include "models/interleaved.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace prove {

namespace {

bool contains(unsigned offset, unsigned size, const Extent &at) {
    return offset <= at.offset && offset + size >= unsigned{at.offset} + at.size;
}

bool overlaps(unsigned offset, unsigned size, const Extent &at) {
    return offset < unsigned{at.offset} + at.size && at.offset < offset + size;
}

uint64_t merged(uint64_t word, unsigned offset, unsigned size, uint64_t value) {
    uint64_t mask = low_bytes(~uint64_t{0}, size) << 8 * offset;
    return (word & ~mask) | (value << 8 * offset & mask);
}

uint64_t part(uint64_t word, const Extent &at) { return low_bytes(word >> 8 * at.offset, at.size); }

} // namespace

Interleaved::Interleaved(Program &program, unsigned threads, Model model, const Bounds &bounds)
    : Machine(program, threads), model_(model),
      most_buffered_(std::min(bounds.buffer, kMostBuffered - 1)) {}

void Interleaved::begin() {
    const Layout &layout = program_.layout();
    failed_ = false;
    mask_words_ = (layout.guarded_units() + 63) / 64;
    accessed_.assign(2 * mask_words_ * threads_, 0);
    memory_.resize(layout.words());
    for (size_t i = 0; i < memory_.size(); i++)
        memory_[i] = program_.native().initial(layout.word_address(i), 8);
    for (unsigned t = 0; t < threads_; t++) {
        buffers_[t].count = 0;
        nodes_[t] = Node::kNone;
    }
    for (unsigned t = 0; t < threads_ && !broken(); t++) {
        nodes_[t] = program_.start(t);
        run(t);
    }
}

void Interleaved::save(std::vector<uint64_t> &words) const {
    words.clear();
    for (unsigned t = 0; t < threads_; t++)
        words.push_back(static_cast<uint64_t>(buffers_[t].count) << 32 | nodes_[t]);
    words.insert(words.end(), accessed_.begin(), accessed_.end());
    words.insert(words.end(), memory_.begin(), memory_.end());
    for (unsigned t = 0; t < threads_; t++) {
        for (unsigned i = 0; i < buffers_[t].count; i++) {
            const Buffered &store = buffers_[t].stores[i];
            words.push_back(static_cast<uint64_t>(store.word) << 24 | store.offset << 16 |
                            store.size << 8 | store.atomic << 1 | store.at_once |
                            store.return_address << 40);
            words.push_back(store.value);
        }
    }
}

void Interleaved::load(const uint64_t *words, size_t) {
    failed_ = false;
    for (unsigned t = 0; t < threads_; t++, words++) {
        nodes_[t] = static_cast<NodeId>(*words);
        buffers_[t].count = static_cast<unsigned>(*words >> 32);
    }
    std::memcpy(accessed_.data(), words, accessed_.size() * sizeof *words);
    words += accessed_.size();
    std::memcpy(memory_.data(), words, memory_.size() * sizeof *words);
    words += memory_.size();
    for (unsigned t = 0; t < threads_; t++) {
        for (unsigned i = 0; i < buffers_[t].count; i++, words += 2) {
            uint64_t packed = words[0];
            buffers_[t].stores[i] = {static_cast<uint16_t>(packed >> 24),
                                     static_cast<uint8_t>(packed >> 16),
                                     static_cast<uint8_t>(packed >> 8),
                                     (packed & 1) != 0,
                                     (packed & 2) != 0,
                                     words[1],
                                     packed >> 40};
        }
    }
}

bool Interleaved::ended() const {
    for (unsigned t = 0; t < threads_; t++) {
        if (at(t).op.kind != Kind::kEnd || buffers_[t].count != 0)
            return false;
    }
    return true;
}

// Memory

uint64_t Interleaved::read(unsigned thread, const Extent &at) const {
    uint64_t word = memory_[at.word];
    const Buffer &buffer = buffers_[thread];
    for (unsigned i = 0; i < buffer.count; i++) {
        const Buffered &store = buffer.stores[i];
        if (store.word == at.word)
            word = merged(word, store.offset, store.size, store.value);
    }
    return part(word, at);
}

void Interleaved::write(const Extent &at, uint64_t value) {
    memory_[at.word] = merged(memory_[at.word], at.offset, at.size, value);
}

// Under kTsoWait: whether a load overlaps a buffered store that does not cover it.
bool Interleaved::must_wait(const Buffer &buffer, const Extent &at) const {
    if (model_ != Model::kTsoWait)
        return false;
    for (unsigned i = buffer.count; i-- > 0;) {
        const Buffered &store = buffer.stores[i];
        if (store.word == at.word && overlaps(store.offset, store.size, at))
            return !contains(store.offset, store.size, at);
    }
    return false;
}

void Interleaved::drain_oldest(unsigned thread) {
    Buffer &buffer = buffers_[thread];
    const Buffered &store = buffer.stores[0];
    memory_[store.word] = merged(memory_[store.word], store.offset, store.size, store.value);
    std::copy(buffer.stores.begin() + 1, buffer.stores.begin() + buffer.count,
              buffer.stores.begin());
    buffer.count--;
}

void Interleaved::drain_at_once(unsigned thread) {
    while (buffers_[thread].count > 0 && buffers_[thread].stores[0].at_once) {
        bool atomic = buffers_[thread].stores[0].atomic;
        drain_oldest(thread);
        if (atomic)
            check_invariant(thread);
    }
}

// Races

bool Interleaved::accessed_plainly(unsigned thread) const {
    for (size_t i = 0; i < 2 * mask_words_; i++) {
        if (accessed_[2 * thread * mask_words_ + i])
            return true;
    }
    return false;
}

void Interleaved::forget_accesses(unsigned thread) {
    std::fill_n(reads_of(thread), 2 * mask_words_, 0);
}

// Whether the next atomic access of another thread conflicts with a plain one of `at`.
bool Interleaved::overlaps_next(unsigned other, const Extent &at, bool write) const {
    const Node &next = this->at(other);
    return next.op.is_atomic() && (write || next.op.writes()) && next.at.word == at.word &&
           overlaps(next.at.offset, next.at.size, at);
}

void Interleaved::check_plain(unsigned thread, const Node &node) {
    bool write = node.op.writes();
    const std::vector<Unit> &units = program_.layout().units();
    for (unsigned u : node.at.unit_numbers()) {
        if (units[u].guarded == Unit::kNone)
            continue;
        size_t index = units[u].guarded / 64;
        uint64_t bit = uint64_t{1} << units[u].guarded % 64;
        for (unsigned other = 0; other < threads_; other++) {
            if (other == thread || nodes_[other] == Node::kNone)
                continue;
            bool conflict = writes_of(other)[index] & bit ||
                            (write && reads_of(other)[index] & bit) ||
                            overlaps_next(other, node.at, write);
            if (conflict)
                fail("race",
                     write ? "a plain store and another thread's access"
                           : "a plain load and another thread's store",
                     thread);
        }
        (write ? writes_of(thread) : reads_of(thread))[index] |= bit;
    }
}

// The thread has come to a step: races of its atomic access with what others did plainly.
void Interleaved::check_next(unsigned thread) {
    const Node &node = at(thread);
    if (!node.op.is_atomic() || !node.at.guarded)
        return;
    const std::vector<Unit> &units = program_.layout().units();
    for (unsigned u : node.at.unit_numbers()) {
        if (units[u].guarded == Unit::kNone)
            continue;
        size_t index = units[u].guarded / 64;
        uint64_t bit = uint64_t{1} << units[u].guarded % 64;
        for (unsigned other = 0; other < threads_; other++) {
            if (other != thread && (writes_of(other)[index] & bit ||
                                    (node.op.writes() && reads_of(other)[index] & bit))) {
                fail("race", "an atomic access and another thread's plain access", thread);
                tell(thread, node.op, 0);
            }
        }
    }
}

// Steps

void Interleaved::go_on(unsigned thread, uint64_t answer) {
    nodes_[thread] = program_.next(nodes_[thread], answer);
}

void Interleaved::do_plain(unsigned thread, const Node &node) {
    check_plain(thread, node);
    if (node.op.kind == Kind::kPlainLoad) {
        uint64_t value = read(thread, node.at);
        tell(thread, node.op, value);
        go_on(thread, value);
    } else {
        do_store(thread, node);
    }
}

void Interleaved::do_store(unsigned thread, const Node &node) {
    if (buffers()) {
        Buffer &buffer = buffers_[thread];
        bool at_once = node.op.is_plain() || !node.at.shared;
        buffer.stores[buffer.count++] = {
            node.at.word,        node.at.offset, node.at.size,          at_once,
            node.op.is_atomic(), node.op.value,  node.op.return_address};
        drain_at_once(thread);
    } else {
        write(node.at, node.op.value);
        if (!node.op.is_plain())
            check_invariant(thread);
    }
    tell(thread, node.op, node.op.value);
    go_on(thread, 0);
}

void Interleaved::do_update(unsigned thread, const Node &node) {
    uint64_t old = part(memory_[node.at.word], node.at);
    uint64_t fresh = updated(node.op, old);
    write(node.at, fresh);
    tell(thread, node.op, old);
    if (fresh != old)
        check_invariant(thread);
    go_on(thread, old);
}

// A store that others see at once, or one that a plain access before it must not move past, or
// that may be part of a race itself; and one that finds the buffer full.
bool Interleaved::store_is_a_step(unsigned thread, const Node &node) const {
    if (node.at.shared && (!buffers() || program_.interrupts()))
        return true;
    return node.at.guarded || (node.at.shared && accessed_plainly(thread)) ||
           buffers_[thread].count >= most_buffered_;
}

// Takes a thread to its next step.
void Interleaved::run(unsigned thread) {
    unsigned steps = 0, waits = 0;
    drain_at_once(thread);
    while (!broken() && run_one(thread, waits)) {
        if (goes_round(thread, steps))
            return;
    }
    if (!broken())
        check_next(thread);
}

// Does the thread's operation if nobody else can tell when; false: it is a step, or the end.
bool Interleaved::run_one(unsigned thread, unsigned &waits) {
    const Node &node = at(thread);
    const Buffer &buffer = buffers_[thread];
    switch (node.op.kind) {
    case Kind::kPlainLoad:
        if (must_wait(buffer, node.at))
            return false;
        do_plain(thread, node);
        return true;
    case Kind::kPlainStore:
        if (buffer.count >= most_buffered_)
            return false;
        do_plain(thread, node);
        return true;
    case Kind::kLoad: {
        // Not one that the buffer serves either: if it drained first, another store might come.
        if (node.at.shared || must_wait(buffer, node.at))
            return false;
        uint64_t value = read(thread, node.at);
        tell(thread, node.op, value);
        go_on(thread, value);
        return true;
    }
    case Kind::kStore:
        if (store_is_a_step(thread, node))
            return false;
        do_store(thread, node);
        return true;
    case Kind::kRmw:
    case Kind::kCas:
        if (node.at.shared || buffer.count != 0)
            return false;
        do_update(thread, node);
        return true;
    case Kind::kFence:
        if (node.op.order == Order::kSeqCst && buffer.count != 0)
            return false;
        tell(thread, node.op, 0);
        go_on(thread, 0);
        return true;
    case Kind::kInterrupt:
        return false;
    case Kind::kWait:
        if (++waits > 1)
            return false;
        go_on(thread, 0);
        return true;
    case Kind::kFail:
        fail("assertion", node.op.what, thread);
        tell(thread, node.op, 0);
        return false;
    case Kind::kBeyond:
    case Kind::kEnd:
        return false;
    }
    return false;
}

// A thread executes its fence when its buffer is empty.
void Interleaved::add_interrupts(unsigned thread, const Node &node,
                                 std::vector<Choice> &choices) const {
    for (uint16_t other = 0; other < threads_; other++) {
        if (other != thread && node.op.value >> other & 1 && buffers_[other].count == 0)
            choices.push_back({static_cast<uint8_t>(thread), false, other});
    }
}

void Interleaved::choices(std::vector<Choice> &choices) {
    choices.clear();
    for (uint8_t t = 0; t < threads_; t++) {
        const Node &node = at(t);
        const Buffer &buffer = buffers_[t];
        bool can = true;
        if (node.op.kind == Kind::kInterrupt)
            add_interrupts(t, node, choices);
        if (node.op.kind == Kind::kEnd || node.op.kind == Kind::kInterrupt)
            can = false;
        else if (node.op.kind == Kind::kLoad || node.op.kind == Kind::kPlainLoad)
            can = !must_wait(buffer, node.at);
        else if (node.op.kind == Kind::kStore || node.op.kind == Kind::kPlainStore)
            can = buffer.count < most_buffered_;
        else if (node.op.kind != Kind::kWait)
            can = buffer.count == 0;
        if (can)
            choices.push_back({t, false, 0});
        else if (node.op.writes() && !node.op.is_update())
            buffer_was_full_ = true;
        if (buffer.count > 0)
            choices.push_back({t, true, 0});
    }
}

void Interleaved::take(Choice choice) {
    unsigned thread = choice.thread;
    const Node &node = at(thread);
    if (choice.drain) {
        const Buffered store = buffers_[thread].stores[0];
        Operation op;
        op.kind = Kind::kStore;
        op.size = store.size;
        op.address = program_.layout().word_address(store.word) + store.offset;
        op.return_address = store.return_address;
        drain_oldest(thread);
        tell(thread, op, store.value, true);
        check_invariant(thread);
        run(thread);
        return;
    }
    forget_accesses(thread);
    switch (node.op.kind) {
    case Kind::kPlainLoad:
    case Kind::kPlainStore:
        do_plain(thread, node);
        break;
    case Kind::kLoad: {
        uint64_t value = read(thread, node.at);
        tell(thread, node.op, value);
        go_on(thread, value);
        break;
    }
    case Kind::kStore:
        do_store(thread, node);
        break;
    case Kind::kRmw:
    case Kind::kCas:
        do_update(thread, node);
        break;
    case Kind::kInterrupt:
        tell(thread, node.op, choice.option);
        go_on(thread, choice.option);
        break;
    default:
        go_on(thread, 0);
        break;
    }
    if (!broken())
        run(thread);
}

std::string Interleaved::detail(unsigned thread) const {
    const Buffer &buffer = buffers_[thread];
    std::string text;
    for (unsigned i = 0; i < buffer.count; i++) {
        const Buffered &store = buffer.stores[i];
        char one[64];
        std::snprintf(one, sizeof one, "%s%llx:%u=%llx", i ? " " : "",
                      static_cast<unsigned long long>(program_.layout().word_address(store.word) +
                                                      store.offset),
                      store.size, static_cast<unsigned long long>(store.value));
        text += one;
    }
    return text;
}

} // namespace prove
