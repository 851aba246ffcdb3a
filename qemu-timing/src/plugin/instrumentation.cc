#include "plugin/instrumentation.h"

#include "core/block.h"
#include "core/core.h"
#include "isa/decoder.h"
#include "isa/insn.h"
#include "output/failure.h"
#include "plugin/api_version.h"
#include "plugin/engine.h"
#include "region/image.h"
#include "region/region.h"
#include "region/vcpu.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace lockcross {

namespace {

constexpr uint64_t kPage = 4096;

const TimedInsn &insn_of(void *data) { return *static_cast<TimedInsn *>(data); }

void on_block(unsigned vcpu, void *data) {
    if (Vcpu *inside = inside_region[vcpu])
        inside->begin_block(*static_cast<Block *>(data));
}

void before_access(unsigned vcpu, void *data) {
    if (Vcpu *inside = inside_region[vcpu])
        inside->wait_for_turn(insn_of(data));
}

void before_store_conditional(unsigned vcpu, void *data) {
    if (Vcpu *inside = inside_region[vcpu]) {
        inside->wait_for_turn(insn_of(data));
        inside->before_store_conditional(insn_of(data));
    }
}

void on_fence(unsigned vcpu, void *data) {
    if (Vcpu *inside = inside_region[vcpu])
        inside->fence(insn_of(data));
}

void on_charge(unsigned vcpu, void *data) {
    if (Vcpu *inside = inside_region[vcpu])
        inside->charge(insn_of(data));
}

void after_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    Vcpu *inside = inside_region[vcpu];
    if (!inside)
        return;
    const Image &image = engine.region->image;
    uint32_t size = 1u << qemu_plugin_mem_size_shift(info);
    if (!image.contains(address, size)) {
        fail(Exit::Failure,
             "an access at " + std::to_string(address) + " lies outside of the program's image");
    }
    // QEMU 10 reports both registers of a pair at once, older ones report one after the other.
    const TimedInsn &insn = insn_of(data);
    uint32_t part = insn.pair_bytes ? insn.pair_bytes : size;
    for (uint32_t done = 0; done < size; done += part) {
        inside->after_access(insn, address - image.begin + done, part,
                             qemu_plugin_mem_is_store(info));
    }
}

// Of an instruction that the decoder took for one without a memory access.
void after_unknown_access(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t, void *data) {
    if (!inside_region[vcpu])
        return;
    uint64_t address = reinterpret_cast<uint64_t>(data);
    fail(Exit::Failure, "the instruction at " + std::to_string(address) +
                            " accesses memory, but was decoded as one that does not");
}

// Of an instruction that the decoder does not know: nothing true could be said of its time.
void before_unknown(unsigned vcpu, void *data) {
    if (!inside_region[vcpu])
        return;
    fail(Exit::Failure,
         "the instruction at " + std::to_string(reinterpret_cast<uint64_t>(data)) +
             " is unknown: the engine simulates the instructions of the general registers alone");
}

// Registers the callbacks of an instruction. timed: it in its block, or null.
void instrument(qemu_plugin_insn *insn, bool known, TimedInsn *timed) {
    void *address = reinterpret_cast<void *>(qemu_plugin_insn_vaddr(insn));
    auto before = [&](qemu_plugin_vcpu_udata_cb_t callback) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, timed);
    };
    auto after = [&](qemu_plugin_vcpu_mem_cb_t callback, void *data) {
        qemu_plugin_register_vcpu_mem_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         data);
    };
    if (!known)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, before_unknown, QEMU_PLUGIN_CB_NO_REGS,
                                               address);
    if (!timed) {
        after(after_unknown_access, address);
        return;
    }
    switch (timed->effect) {
    case Effect::Fence:
        before(on_fence);
        return;
    case Effect::Charge:
        before(on_charge);
        return;
    case Effect::StoreConditional:
        before(before_store_conditional);
        break;
    default:
        before(before_access);
    }
    after(after_access, timed);
}

// An instruction that lies across the end of a page belongs to the next block. QEMU 7.2 counts it
// in this block, too: as its last one, cut off, so that it does not decode.
bool is_cut_off(const Insn &insn, size_t index, uint64_t address) {
    constexpr uint64_t kLongest = 15;
    return insn.cut_off && index > 0 && -address % kPage < kLongest;
}

// Adds a block's instructions. Returns the address after the last one.
uint64_t add_instructions(qemu_plugin_tb *tb, BlockBuilder &builder) {
    uint64_t end = qemu_plugin_tb_vaddr(tb);
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        size_t size = qemu_plugin_insn_size(insn);
        const uint8_t *code = engine.insn_reader->bytes(insn, size);
        Insn decoded = engine.decoder->decode(code, size, address);
        if (is_cut_off(decoded, i, address))
            break;
        instrument(insn, decoded.known, builder.add(decoded, address, uint32_t(size)));
        uint64_t host = reinterpret_cast<uint64_t>(qemu_plugin_insn_haddr(insn));
        engine.host_offset = int64_t(host - address);
        end = address + size;
    }
    return end;
}

} // namespace

void on_translation(qemu_plugin_id_t, qemu_plugin_tb *tb) {
    std::lock_guard lock(engine.mutex);
    BlockBuilder builder(engine.options, qemu_plugin_tb_vaddr(tb),
                         qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0)));
    uint64_t end = add_instructions(tb, builder);
    // The rest of the page is mapped, and so can be read.
    const uint8_t *code = reinterpret_cast<const uint8_t *>(end + uint64_t(engine.host_offset));
    builder.add_wrong_path(*engine.decoder, code, -end % kPage, end);
    engine.blocks.push_back(builder.finish());
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                         engine.blocks.back().get());
}

} // namespace lockcross
