#include "plugin/region.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace lockcross {

void fail(int code, const std::string &message) {
    std::fprintf(stderr, "lockcross-timing: %s\n", message.c_str());
    std::fflush(stderr);
    _exit(code);
}

void write_file(const std::string &path, const std::string &bytes) {
    std::FILE *file = std::fopen(path.c_str(), "w");
    bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file && std::fclose(file) != 0)
        written = false;
    if (!written)
        fail(4, "cannot write " + path + ": " + std::strerror(errno));
}

namespace {

// A well-mixed number for each (seed, core): the finalizer of SplitMix64.
uint64_t mix(uint64_t seed, uint64_t core) {
    uint64_t z = seed * 0x9e3779b97f4a7c15 + (core + 1) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint32_t line_count(const Image &image, uint32_t line) {
    return uint32_t((image.end - image.begin + line - 1) / line);
}

// The image's bytes. Its segments may have unmapped pages between them, which stay zero: the kernel
// copies, and refuses what is not there instead of raising a signal.
std::vector<uint8_t> copy_of(const Image &image) {
    constexpr size_t kPage = 4096;
    std::vector<uint8_t> copy(image.end - image.begin);
    for (size_t from = 0; from < copy.size(); from += kPage) {
        size_t size = std::min(kPage, copy.size() - from);
        iovec to{&copy[from], size}, source{image.host + from, size};
        ssize_t got = process_vm_readv(getpid(), &to, 1, &source, 1, 0);
        if (got < 0 && errno != EFAULT) {
            fail(4, std::string("cannot read the program's memory: ") + std::strerror(errno));
        }
    }
    return copy;
}

} // namespace

Runner::Runner(Region &region, uint32_t id, const Options &options, Memory &memory, Counts &counts)
    : core(make_core(options, id, memory, counts)), region_(region), counts_(counts), id_(id) {}

void Runner::wake() {
    turn_.store(1, std::memory_order_release);
    syscall(SYS_futex, &turn_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Runner::sleep() {
    while (turn_.load(std::memory_order_acquire) == 0) {
        syscall(SYS_futex, &turn_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    turn_.store(0, std::memory_order_relaxed);
}

void Runner::hand_over(Cycle cycle) { region_.hand_over(id_, cycle); }

void Runner::check_limit() {
    uint64_t allowed = region_.options.max_instructions, used = region_.instructions();
    if (allowed == 0) {
        next_check = UINT64_MAX;
        return;
    }
    if (used > allowed) {
        region_.write_report(false);
        fail(3, "instruction limit of " + std::to_string(allowed) + " reached");
    }
    next_check = core->counts().instructions + (allowed - used) / region_.cores();
}

void Runner::set_timer(uint64_t word, Cycle cycles) {
    slice_word_ = cycles ? region_.image.host + word : nullptr;
    slice_end_ = region_.now(id_) + cycles;
}

// The guest may be in the middle of changing the word and undo this: so it is done for every block
// until the timer is set anew.
void Runner::end_slice() {
    uint32_t value;
    std::memcpy(&value, slice_word_, sizeof value);
    if (value & 1) {
        value &= ~uint32_t(1);
        region_.poke(uint64_t(slice_word_ - region_.image.host), &value, sizeof value);
    }
}

// QEMU lets a store-conditional succeed when the value is what the load-linked saw, even if another
// core has written the line in between. The model's reservation decides instead: when it is lost,
// the value is changed for the moment of the store-conditional, which then fails as on a real core.
// No other thread runs in that moment.
void Runner::before_store_conditional(const Step &step) {
    pending_ = &step;
    accessed_ = false;
    if (core->reservation_lost()) {
        perturbed_ = true;
        region_.image.host[linked_] ^= 0xff;
    }
}

void Runner::restore() {
    if (perturbed_)
        region_.image.host[linked_] ^= 0xff;
    perturbed_ = false;
}

void Runner::access(const Step &step, uint64_t address, uint32_t size, bool is_store) {
    switch (step.insn.effect) {
    case Effect::LoadLinked:
        linked_ = address;
        core->load_linked(step, address, size);
        return;
    case Effect::StoreConditional:
    case Effect::Cas:
    case Effect::Rmw:
        restore();
        pending_ = &step;
        address_ = address;
        size_ = size;
        accessed_ = true;
        return;
    default:
        break;
    }
    (is_store ? counts_.stores : counts_.loads)++;
    if (!is_store) {
        core->load(step, address, size);
        return;
    }
    core->store(step, address, size);
    std::memcpy(&region_.shadow[address], region_.image.host + address, size);
}

void Runner::resolve_pending() {
    const Step &step = *pending_;
    pending_ = nullptr;
    restore();
    bool changed = false;
    if (accessed_) {
        uint8_t *now = region_.image.host + address_, *before = &region_.shadow[address_];
        changed = std::memcmp(now, before, size_) != 0;
        std::memcpy(before, now, size_);
    }
    if (step.insn.effect == Effect::StoreConditional) {
        core->store_conditional(step, address_, size_, accessed_, changed);
    } else if (step.insn.effect == Effect::Cas) {
        core->cas(step, address_, size_, changed);
    } else {
        core->rmw(step, address_, size_);
    }
}

Region::Region(const Options &options, Image image, uint32_t cores, std::string isa)
    : options(options), image(image), shadow(copy_of(image)), counts_(cores),
      memory_(options, line_count(image, options.line), counts_), order_(cores), cycles_(cores) {
    report_.isa = std::move(isa);
    for (uint32_t core = 0; core < cores; core++) {
        runners_.push_back(std::make_unique<Runner>(*this, core, options, memory_, counts_[core]));
    }
}

void Region::start() {
    for (uint32_t core = 0; core < runners_.size(); core++) {
        Cycle offset = mix(options.seed, core) % (uint64_t(options.offset_max) + 1);
        runners_[core]->core->start_at(offset);
        report_.starts.push_back(offset);
        order_.wait_at(core, offset);
    }
    pass_turn();
}

void Region::pass_turn() {
    uint32_t next = *order_.first();
    runners_[next]->limit = order_.limit(next);
    runners_[next]->wake();
}

void Region::hand_over(uint32_t core, Cycle cycle) {
    order_.wait_at(core, cycle);
    if (order_.first() == core) {
        runners_[core]->limit = order_.limit(core);
        return;
    }
    report_.handovers++;
    pass_turn();
    runners_[core]->sleep();
}

bool Region::finish(uint32_t core) {
    runners_[core]->resolve();
    runners_[core]->core->leave();
    cycles_[core] = runners_[core]->core->cycles();
    order_.leave(core);
    if (order_.first()) {
        pass_turn();
        return false;
    }
    write_report(true);
    return true;
}

void Region::mark(uint32_t core, uint64_t phase) {
    Cycle cycle = now(core);
    report_.phases.push_back({core, phase, cycle, counts_[core]});
}

Cycle Region::now(uint32_t core) {
    runners_[core]->resolve();
    return runners_[core]->core->end_of_block();
}

void Region::poke(uint64_t address, const void *bytes, size_t size) {
    std::memcpy(image.host + address, bytes, size);
    std::memcpy(&shadow[address], bytes, size);
}

uint64_t Region::instructions() const {
    uint64_t sum = 0;
    for (const Counts &counts : counts_)
        sum += counts.instructions;
    return sum;
}

void Region::write_report(bool complete) {
    report_.complete = complete;
    report_.cycles = cycles_;
    for (uint32_t core = 0; core < runners_.size(); core++) {
        // Unfinished blocks do not count.
        if (!complete)
            report_.cycles[core] = runners_[core]->core->stall_sum();
        if (complete && runners_[core]->core->stall_sum() != cycles_[core]) {
            fail(4, "the stalls of core " + std::to_string(core) + " do not add up to its cycles");
        }
    }
    if (!options.out.empty())
        write_file(options.out, to_json(report_, options, counts_));
}

} // namespace lockcross
