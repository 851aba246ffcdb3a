#include "plugin/markers.h"

#include "base/counts.h"
#include "base/options.h"
#include "memory/core_set.h"
#include "output/event_log.h"
#include "output/failure.h"
#include "output/file.h"
#include "plugin/engine.h"
#include "plugin/server.h"
#include "region/image.h"
#include "region/region.h"
#include "region/vcpu.h"

#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>

namespace lockcross {

namespace {

constexpr int64_t kMarker = 0x4c58; // number of the system call
enum MarkerOp : uint64_t {
    kMeet = 1,
    kBegin = 2,
    kPhase = 3,
    kEnd = 4,
    kTimer = 5,
    kEvent = 6,
    kServe = 7,
    kForked = 8
};

// Waits until `threads` threads are here. The last one to come runs `last`.
template <typename Last>
void meet(std::unique_lock<std::mutex> &lock, uint32_t threads, Last last) {
    uint64_t meeting = engine.meetings;
    if (++engine.meeting == threads) {
        engine.meeting = 0;
        engine.meetings++;
        last();
        engine.changed.notify_all();
    }
    engine.changed.wait(lock, [&] { return engine.meetings != meeting; });
}

void begin(unsigned vcpu, uint64_t thread, uint64_t threads, uint64_t image_begin,
           uint64_t image_end) {
    if (threads < 1 || threads > kMaxCores || thread >= threads || image_begin >= image_end)
        fail(Exit::Failure, "a BEGIN marker has arguments out of range");
    std::unique_lock lock(engine.mutex);
    if (engine.region)
        fail(Exit::Failure, "the program began a second region of interest");
    if (engine.begun[thread])
        fail(Exit::Failure, "two threads began the region of interest under one number");
    engine.begun.set(thread);
    meet(lock, uint32_t(threads), [&] {
        uint64_t host = image_begin + uint64_t(engine.host_offset);
        Image image{image_begin, image_end, reinterpret_cast<uint8_t *>(host)};
        engine.region =
            std::make_unique<Region>(engine.options, image, uint32_t(threads), engine.isa);
        engine.region->start();
    });
    lock.unlock();
    inside_region[vcpu] = &engine.region->vcpu(uint32_t(thread));
    engine.region->enter(uint32_t(thread));
}

void end(unsigned vcpu) {
    uint32_t core = inside_region[vcpu]->core_id;
    inside_region[vcpu] = nullptr;
    bool over = engine.region->finish(core);
    std::unique_lock lock(engine.mutex);
    const Options &options = engine.options;
    if (over && !options.events.empty()) {
        uint64_t image = engine.region->image.begin;
        write_file(options.events, engine.events.to_bytes(image, options.clock_mhz));
    }
    engine.region_over |= over;
    engine.changed.notify_all();
    engine.changed.wait(lock, [] { return engine.region_over; });
}

// what: the event's kind and, from bit 8, the state of the lock.
void lock_event(unsigned vcpu, uint64_t thread, uint64_t what, uint64_t object) {
    constexpr uint8_t kObjectMade = 0;
    if (engine.options.events.empty())
        return;
    if (uint8_t(what) == kObjectMade) {
        std::lock_guard lock(engine.mutex);
        engine.events.add_object(object);
        return;
    }
    if (!inside_region[vcpu])
        return;
    Region &region = *engine.region;
    LockEvent event{};
    event.core = inside_region[vcpu]->core_id;
    event.cycle = region.now(event.core);
    event.object = uint32_t(object - region.image.begin);
    event.thread = uint16_t(thread);
    event.kind = uint8_t(what);
    event.state = uint8_t(what >> 8);
    if (!engine.events.add(event)) {
        fail(Exit::Failure,
             "more than " + std::to_string(kMaxLockEvents) + " lock events; shorten the run");
    }
}

// A place of `size` bytes that the guest names, as counted from the start of the image.
uint64_t offset_of(uint64_t address, uint64_t size) {
    const Image &image = engine.region->image;
    if (address % size != 0 || !image.contains(address, size))
        fail(Exit::Failure, "a TIMER marker names a place outside of the program's image");
    return address - image.begin;
}

// word: sets the timer of this core; clock: stores the cycle that it is on this core.
void timer(Vcpu &vcpu, uint64_t word, uint64_t cycles, uint64_t clock) {
    if (word)
        vcpu.set_timer(offset_of(word, sizeof(uint32_t)), cycles);
    if (clock) {
        Cycle now = engine.region->now(vcpu.core_id);
        engine.region->poke(offset_of(clock, sizeof now), &now, sizeof now);
    }
}

int64_t exit_group_number() {
    return engine.isa == "x86_64" ? 231 : engine.isa == "ppc64le" ? 234 : 94;
}

// The program ends, and the process at once with it: what it leaves is written. QEMU would clear
// its tables first, although a thread that is still ending may have freed its own. And if the
// program ends within the region, because one of its checks has failed, QEMU would stop all
// threads, and those that wait for their turn do not stop.
[[noreturn]] void end_program(unsigned vcpu, uint64_t code) {
    if (vcpu < kMaxVcpus && inside_region[vcpu])
        engine.region->write_report(false);
    _exit(int(code & 0xff));
}

} // namespace

void on_syscall(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t a0, uint64_t a1,
                uint64_t a2, uint64_t a3, uint64_t a4, uint64_t, uint64_t, uint64_t) {
    if (number == exit_group_number())
        end_program(vcpu, a0);
    if (number != kMarker)
        return;
    if (vcpu >= kMaxVcpus)
        fail(Exit::Failure, "too many threads");
    if (a0 == kEvent)
        return lock_event(vcpu, a1, a2, a3);
    bool inside = inside_region[vcpu] != nullptr;
    if (inside)
        inside_region[vcpu]->forget_loop();
    if (inside != (a0 == kPhase || a0 == kEnd || a0 == kTimer))
        fail(Exit::Failure, "a marker is out of place");
    switch (a0) {
    case kMeet: {
        std::unique_lock lock(engine.mutex);
        return meet(lock, uint32_t(a2), [] {});
    }
    case kBegin:
        return begin(vcpu, a1, a2, a3, a4);
    case kPhase:
        return engine.region->mark_phase(inside_region[vcpu]->core_id, a2);
    case kTimer:
        return timer(*inside_region[vcpu], a2, a3, a4);
    case kEnd:
        return end(vcpu);
    case kServe:
        return serve(a1, a2);
    case kForked:
        return forked(int64_t(a1));
    default:
        fail(Exit::Failure, "unknown marker " + std::to_string(a0));
    }
}

} // namespace lockcross
