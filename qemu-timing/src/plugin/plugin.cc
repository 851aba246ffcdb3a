// The plugin: QEMU's callbacks on one side, the region of interest on the other.
#include "output/event_log.h"
#include "plugin/api_version.h"
#include "plugin/qemu_plugin_api.h"
#include "plugin/region.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <unistd.h>

using namespace lockcross;

namespace {

constexpr int64_t kMarker = 0x4c58; // system call number; docs/interfaces.md, section 5
enum MarkerOp : uint64_t { kMeet = 1, kBegin = 2, kPhase = 3, kEnd = 4, kTimer = 5, kEvent = 6 };
constexpr uint32_t kMaxCores = 64;
constexpr uint32_t kMaxVcpus = 4096;
constexpr uint64_t kPage = 4096;

struct Engine {
    Options options;
    std::string isa;
    std::unique_ptr<Decoder> decoder;
    std::optional<InsnReader> insns;
    std::mutex mutex; // of all below; never held while a guest thread runs inside the region
    std::condition_variable changed;
    std::vector<std::unique_ptr<Block>> blocks;
    int64_t host_offset = 0; // host address minus guest address
    uint64_t begun = 0;      // numbers of the threads that came to BEGIN, as bits
    uint32_t meeting = 0;    // threads that wait in MEET or BEGIN
    uint64_t meetings = 0;   // how often all came
    std::unique_ptr<Region> region;
    bool region_over = false;
    EventLog events;
};

Engine *engine;
// Of the vCPUs inside the region; null outside, where nothing is counted.
std::array<Runner *, kMaxVcpus> running;

Runner *runner_of(unsigned vcpu) { return running[vcpu]; }

void on_block(unsigned vcpu, void *data) {
    if (Runner *runner = runner_of(vcpu))
        runner->enter_block(*static_cast<Block *>(data));
}

void before_access(unsigned vcpu, void *data) {
    if (Runner *runner = runner_of(vcpu))
        runner->gate(*static_cast<Step *>(data));
}

void before_store_conditional(unsigned vcpu, void *data) {
    Runner *runner = runner_of(vcpu);
    if (!runner)
        return;
    runner->gate(*static_cast<Step *>(data));
    runner->before_store_conditional(*static_cast<Step *>(data));
}

void on_fence(unsigned vcpu, void *data) {
    Runner *runner = runner_of(vcpu);
    if (!runner)
        return;
    runner->resolve();
    runner->core->fence(*static_cast<Step *>(data));
}

void on_charge(unsigned vcpu, void *data) {
    Runner *runner = runner_of(vcpu);
    if (!runner)
        return;
    runner->resolve();
    runner->core->charge(*static_cast<Step *>(data));
}

void after_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    Runner *runner = runner_of(vcpu);
    if (!runner)
        return;
    const Image &image = engine->region->image;
    uint32_t size = 1u << qemu_plugin_mem_size_shift(info);
    if (address < image.begin || address + size > image.end) {
        fail(4, "an access at " + std::to_string(address) + " lies outside of the program's image");
    }
    // One QEMU reports both registers of a pair at once, another one after the other.
    const Step &step = *static_cast<Step *>(data);
    uint32_t part = step.insn.pair_bytes ? step.insn.pair_bytes : size;
    for (uint32_t done = 0; done < size; done += part)
        runner->access(step, address - image.begin + done, part, qemu_plugin_mem_is_store(info));
}

// An instruction that the decoder took for one without a memory access.
void after_unknown_access(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t, void *data) {
    if (!runner_of(vcpu))
        return;
    fail(4, "the instruction at " + std::to_string(reinterpret_cast<uint64_t>(data)) +
                " accesses memory, but its decoding does not say so");
}

void watch(qemu_plugin_insn *insn, Step *step) {
    auto before = [&](qemu_plugin_vcpu_udata_cb_t callback) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, step);
    };
    if (!step) {
        void *address = reinterpret_cast<void *>(qemu_plugin_insn_vaddr(insn));
        qemu_plugin_register_vcpu_mem_cb(insn, after_unknown_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, address);
        return;
    }
    switch (step->insn.effect) {
    case Effect::Fence:
        return before(on_fence);
    case Effect::Charge:
        return before(on_charge);
    case Effect::StoreConditional:
        before(before_store_conditional);
        break;

    default:
        before(before_access);
    }
    qemu_plugin_register_vcpu_mem_cb(insn, after_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     step);
}

// QEMU 7.2 still counts an instruction that it has taken back, because it lies across the end of a
// page and begins the next block: the last one, cut off, so that it decodes as nothing.
bool was_taken_back(const Insn &insn, size_t index, uint64_t address) {
    constexpr uint64_t kLongest = 15;
    return engine->isa == "x86_64" && index > 0 && insn.size == 0 && -address % kPage < kLongest;
}

// Adds a block's instructions. Returns the address behind the last one.
uint64_t add_all(qemu_plugin_tb *tb, BlockBuilder &builder) {
    uint64_t behind = qemu_plugin_tb_vaddr(tb);
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        size_t size = qemu_plugin_insn_size(insn);
        Insn decoded = engine->decoder->decode(engine->insns->bytes(insn, size), size, address);
        if (was_taken_back(decoded, i, address))
            break;
        watch(insn, builder.add(decoded, address, uint32_t(size)));
        engine->host_offset =
            int64_t(reinterpret_cast<uint64_t>(qemu_plugin_insn_haddr(insn)) - address);
        behind = address + size;
    }
    return behind;
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb *tb) {
    std::lock_guard lock(engine->mutex);
    BlockBuilder builder(engine->options, qemu_plugin_tb_vaddr(tb));
    uint64_t behind = add_all(tb, builder);
    // What lies on the same page is there to be read.
    builder.add_behind(*engine->decoder,
                       reinterpret_cast<const uint8_t *>(behind + uint64_t(engine->host_offset)),
                       -behind % kPage, behind);
    engine->blocks.push_back(builder.finish());
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                         engine->blocks.back().get());
}

// Waits until `threads` threads are here; runs last in the one that comes last.
template <typename Last>
void meet(std::unique_lock<std::mutex> &lock, uint32_t threads, Last last) {
    uint64_t meeting = engine->meetings;
    if (++engine->meeting == threads) {
        engine->meeting = 0;
        engine->meetings++;
        last();
        engine->changed.notify_all();
    }
    engine->changed.wait(lock, [&] { return engine->meetings != meeting; });
}

void begin(unsigned vcpu, uint64_t thread, uint64_t threads, uint64_t from, uint64_t to) {
    if (threads < 1 || threads > kMaxCores || thread >= threads || from >= to) {
        fail(4, "a BEGIN marker has impossible arguments");
    }
    std::unique_lock lock(engine->mutex);
    if (engine->region)
        fail(4, "the program began a second region of interest");
    if (engine->begun >> thread & 1)
        fail(4, "two threads began the region under one number");
    engine->begun |= uint64_t(1) << thread;
    meet(lock, uint32_t(threads), [&] {
        Image image{from, to, reinterpret_cast<uint8_t *>(from + uint64_t(engine->host_offset))};
        engine->region =
            std::make_unique<Region>(engine->options, image, uint32_t(threads), engine->isa);
        engine->region->start();
    });
    lock.unlock();
    Runner &runner = engine->region->runner(uint32_t(thread));
    runner.sleep();
    running[vcpu] = &runner;
}

void end(unsigned vcpu) {
    uint32_t core = running[vcpu]->id();
    running[vcpu] = nullptr;
    bool over = engine->region->finish(core);
    std::unique_lock lock(engine->mutex);
    if (over && !engine->options.events.empty()) {
        const Options &o = engine->options;
        write_file(o.events, engine->events.to_bytes(engine->region->image.begin, o.clock_mhz));
    }
    engine->region_over |= over;
    engine->changed.notify_all();
    engine->changed.wait(lock, [] { return engine->region_over; });
}

// A lock event; `what` is its kind and, from bit 8, the state of the lock.
void event(unsigned vcpu, uint64_t thread, uint64_t what, uint64_t object) {
    constexpr uint8_t kObjectMade = 0;
    if (engine->options.events.empty())
        return;
    if (uint8_t(what) == kObjectMade) {
        std::lock_guard lock(engine->mutex);
        return engine->events.object_made(object);
    }
    if (!running[vcpu])
        return;
    Region &region = *engine->region;
    uint32_t core = running[vcpu]->id();
    LockEvent told{region.now(core), core,          uint32_t(object - region.image.begin),
                   uint16_t(thread), uint8_t(what), uint8_t(what >> 8)};
    if (!engine->events.add(told))
        fail(4, "more than " + std::to_string(kMaxEvents) + " lock events; let the run be shorter");
}

int64_t exit_group_of(const std::string &isa) {
    return isa == "x86_64" ? 231 : isa == "ppc64le" ? 234 : 94;
}

// The program ends within the region, which is its way to say that it has failed. QEMU would stop
// all threads first, and those that wait for their turn do not stop.
[[noreturn]] void end_early(uint64_t code) {
    engine->region->write_report(false);
    _exit(int(code & 0xff));
}

// Where a place of `size` bytes that the guest names counts from the image's start.
uint64_t offset_of(uint64_t address, uint64_t size) {
    const Image &image = engine->region->image;
    if (address % size != 0 || address < image.begin || address + size > image.end)
        fail(4, "a TIMER marker names a place outside of the program's image");
    return address - image.begin;
}

// Sets the timer of this core, or asks what cycle it is, or both.
void timer(unsigned vcpu, uint64_t word, uint64_t cycles, uint64_t clock) {
    Runner &runner = *running[vcpu];
    if (word)
        runner.set_timer(offset_of(word, sizeof(uint32_t)), cycles);
    if (clock) {
        Cycle now = engine->region->now(runner.id());
        engine->region->poke(offset_of(clock, sizeof now), &now, sizeof now);
    }
}

void on_syscall(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t op, uint64_t thread,
                uint64_t a2, uint64_t a3, uint64_t a4, uint64_t, uint64_t, uint64_t) {
    if (number == exit_group_of(engine->isa) && vcpu < kMaxVcpus && running[vcpu])
        end_early(op);
    if (number != kMarker)
        return;
    if (vcpu >= kMaxVcpus)
        fail(4, "too many threads");
    if (op == kEvent)
        return event(vcpu, thread, a2, a3);
    bool inside = running[vcpu] != nullptr;
    if (inside != (op == kPhase || op == kEnd || op == kTimer))
        fail(4, "a marker is out of place");
    switch (op) {
    case kMeet: {
        std::unique_lock lock(engine->mutex);
        return meet(lock, uint32_t(a2), [] {});
    }
    case kBegin:
        return begin(vcpu, thread, a2, a3, a4);
    case kPhase:
        return engine->region->mark(running[vcpu]->id(), a2);
    case kTimer:
        return timer(vcpu, a2, a3, a4);
    case kEnd:
        return end(vcpu);
    default:
        fail(4, "unknown marker " + std::to_string(op));
    }
}

} // namespace

extern "C" {

// QEMU reads it after the library's constructors have run.
__attribute__((visibility("default"))) int qemu_plugin_version = declared_api();

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    engine = new Engine;
    try {
        engine->options = parse_options({argv, argv + argc});
    } catch (const OptionError &error) {
        fail(2, error.what());
    }
    engine->insns.emplace(info->version.cur, qemu_plugin_insn_data);
    std::string target = info->target_name;
    engine->isa = target;
    engine->decoder = make_decoder(target);
    if (!engine->decoder) {
        fail(2, "QEMU for " + target + " is not supported; x86_64, ppc64le and aarch64 are");
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    return 0;
}
}
